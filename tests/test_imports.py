"""Who may import whom. Read from the source, so that imports inside functions count as well."""

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "multilingual_nmt",
    "command_line",
    "data_prep",
    "fairseq_ext",
    "embeddings",
    "eval",
    "llm",
    "benchmarks",
    "studies",
)  # from below
ROOMS = (  # of eval, from below; those of one line do not know each other
    ("eval.record_schemas",),
    ("eval.result_files", "eval.systems"),
    ("eval.checks", "eval.labels", "eval.scored"),
    ("eval.result_set",),
    ("eval.measurements",),
    ("eval.translation", "eval.scoring"),
    ("eval.derived",),
    ("eval.reporting",),
    ("eval.probes",),
)


def name_of(path: Path) -> str:
    """The module of a file: `eval/probes/__init__.py` is `eval.probes`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {name_of(path): path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))}


def statements(tree: ast.AST, deferred: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module; with `deferred`, also those that wait for a function to be called."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif deferred or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from statements(node, deferred)


@cache
def imports(module: str, deferred: bool = True) -> frozenset[str]:
    """The modules of this project that a module names; `from package import module` names both."""
    found = set()
    for statement in statements(ast.parse(modules()[module].read_text(encoding="utf-8")), deferred):
        if isinstance(statement, ast.Import):
            found.update(alias.name for alias in statement.names)
            continue
        assert statement.level == 0, f"{module}: relative import"
        submodules = {f"{statement.module}.{alias.name}" for alias in statement.names} & set(modules())
        found |= submodules
        if len(submodules) < len(statement.names):
            found.add(statement.module)
    return frozenset(found & set(modules()))


def edges(deferred: bool) -> list[tuple[str, str]]:
    return [(module, other) for module in modules() for other in sorted(imports(module, deferred))]


def room_of(module: str) -> int:
    """The line of ROOMS of the longest prefix that fits; the commands' own files are above all."""
    fitting = [
        (len(prefix), number)
        for number, prefixes in enumerate(ROOMS)
        for prefix in prefixes
        if f"{module}.".startswith(f"{prefix}.")
    ]
    return max(fitting)[1] if fitting else len(ROOMS)


def folder_of(module: str) -> str:
    """What a package consists of: its folders, and the files that lie in it directly."""
    return ".".join(module.split(".")[:2])


def circles(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Groups of nodes of a graph that reach each other."""
    following: dict[str, set[str]] = {}
    for one, other in pairs:
        following.setdefault(one, set()).add(other)

    def reached(start: str) -> frozenset[str]:
        found, todo = set(), [start]
        while todo:
            new = following.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return frozenset(found)

    all_reached = {node: reached(node) for node in following}
    groups = {
        tuple(sorted(other for other in others if node in all_reached.get(other, ())))
        for node, others in all_reached.items()
        if node in others
    }
    return sorted(groups)


def test_circles_are_found():
    pairs = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "e")]
    assert circles(pairs) == [("b", "c"), ("e",)]


def test_folders_import_only_what_lies_below():
    upward = [
        f"{module} imports {other}"
        for module, other in edges(deferred=True)
        if FOLDERS.index(module.split(".")[0]) < FOLDERS.index(other.split(".")[0])
    ]
    assert upward == []


def test_rooms_of_eval_import_only_what_lies_below():
    upward = set()
    for module, other in edges(deferred=True):
        if {module.split(".")[0], other.split(".")[0]} != {"eval"} or "eval" in (module, other):
            continue
        own, others = room_of(module), room_of(other)
        neighbours = own == others < len(ROOMS) and folder_of(module) != folder_of(other)
        if own < others or neighbours:
            upward.add((folder_of(module), folder_of(other)))
    assert upward == set()


def test_no_circles_of_modules():
    assert circles(edges(deferred=True)) == []


# --- imports inside functions

CHEAP = {"numpy", "regex"}  # libraries that a `--help` may load
OF_A_PLATFORM = {"resource", "readline"}  # parts of the standard library that some machines lack


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def names_in(statement: ast.Import | ast.ImportFrom) -> set[str]:
    """The modules that a statement loads."""
    if isinstance(statement, ast.Import):
        return {alias.name for alias in statement.names}
    whole = {f"{statement.module}.{alias.name}" for alias in statement.names}
    return whole if whole <= set(modules()) else {statement.module}


@cache
def libraries(module: str) -> frozenset[str]:
    """The costly libraries that are loaded with a module, at the top of it and of what it imports.

    The package `fairseq_ext` loads fairseq, unless one of its own commands imports it.
    """
    reached, todo = set(), [module]
    while todo:
        if (each := todo.pop()) not in reached:
            reached.add(each)
            todo += imports(each, deferred=False)
    loaded = {
        name.split(".")[0]
        for each in reached
        for statement in statements(tree_of(each), deferred=False)
        for name in names_in(statement)
    }
    if "fairseq_ext" in loaded and module.split(".")[0] != "fairseq_ext":
        loaded.add("fairseq")
    if "fairseq" in loaded:
        loaded.add("torch")
    return frozenset(loaded - CHEAP - set(FOLDERS) - sys.stdlib_module_names)


def costs_nothing(module: str, name: str) -> bool:
    """Whether `name` could as well be imported at the top of the module."""
    package = name.split(".")[0]
    if package in sys.stdlib_module_names:
        return package not in OF_A_PLATFORM
    if package not in FOLDERS:
        return package in libraries(module) | CHEAP
    loaded = libraries(name) | ({"fairseq"} if package == "fairseq_ext" != module.split(".")[0] else set())
    return loaded <= libraries(module)


def deferred_imports(module: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports inside functions, without those that ask whether a library is installed (`try`)."""
    for function in ast.walk(tree_of(module)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inside_try = {
                id(node) for block in ast.walk(function) if isinstance(block, ast.Try) for node in block.body
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in inside_try:
                    yield node


@pytest.mark.parametrize("folder", ["command_line", "data_prep", "fairseq_ext", "llm"])
def test_an_import_inside_a_function_saves_loading_a_library(folder):
    without_reason = {
        f"{module}:{statement.lineno} {name}"
        for module in modules()
        if module.split(".")[0] == folder
        for statement in deferred_imports(module)
        for name in names_in(statement)
        if costs_nothing(module, name)
    }
    assert without_reason == set()


@pytest.mark.parametrize("package", FOLDERS)
def test_no_circles_of_folders(package):
    inside = [
        (folder_of(module), folder_of(other))
        for module, other in edges(deferred=True)
        if module.startswith(f"{package}.") and other.startswith(f"{package}.")
    ]
    assert circles((one, other) for one, other in inside if one != other) == []
