"""`make quick`: the tests of what has changed since the last commit, or since the one that is given.

A test file is run if it changed itself, if it has the name of a module that changed, or if it names one; and
if it names a module that imports that one, and so on, as long as these are few. Of many that name the module
itself the most specific are enough: those of its folder that name the fewest other modules.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "benchmarks", "command_line", "data_prep", "embeddings", "eval", "fairseq_ext", "llm", "multilingual_nmt",
)  # fmt: skip
MANY = 12
ALWAYS = "tests/test_imports.py"
OF_PAGES = ["tests/test_bibliography.py", "tests/test_readme.py"]


def changed(since: str, root: Path = ROOT) -> list[Path]:
    """Files that differ from a commit, relative to the root, and those that git does not know yet."""
    names = []
    for words in (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
        names += done.stdout.splitlines()
    return [Path(name) for name in names]


def calls_for(path: Path) -> list[str]:
    """The test files for a change of this file, relative to the root."""
    if path.suffix == ".md":
        return OF_PAGES
    if path.parts[0] == "recipes" and len(path.parts) > 2:
        return _relative(ROOT.glob(f"tests/recipes/test_{path.parts[1]}*.py"))
    if path.suffix != ".py":
        return []
    if path.parts[0] == "tests" and path.name.startswith("test_"):
        return _relative([ROOT / path] if (ROOT / path).exists() else [])
    tests = _tests_of(path)
    if len(tests) > MANY:
        near = [test for test in tests if path.parts[0] in test.relative_to(ROOT).parts] or tests
        tests = sorted(near, key=lambda test: (test.stem != f"test_{path.stem}", _modules_named(test)))[:MANY]
    return _relative(tests)


def _tests_of(path: Path) -> list[Path]:
    """Those that name a module; then those that name one that imports it, and so on, while they are few."""
    chosen: set[Path] = set()
    modules, seen = {path}, {path}
    while modules:
        tests = {file for file in _test_files() if any(_is_of(file, module) for module in modules)}
        if chosen and len(chosen | tests) > MANY:
            break
        chosen |= tests
        importing = [file for file in _sources() if any(_names(file, module) for module in modules)]
        modules = {file.relative_to(ROOT) for file in importing} - seen
        seen |= modules
    return list(chosen)


@cache
def _test_files() -> list[Path]:
    """But for those of whole programs, most of which are slow."""
    return [file for file in sorted(ROOT.glob("tests/**/test_*.py")) if "integration" not in file.parts]


@cache
def _sources() -> list[Path]:
    folders = (*PACKAGES, "tests")
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]


def _is_of(test: Path, module: Path) -> bool:
    has_its_name = test.name == f"test_{module.name}" and module.parts[0] in test.relative_to(ROOT).parts
    return has_its_name or _names(test, module)


def _names(file: Path, module: Path) -> bool:
    """Whether a file names a module: `package.name`, or `from package import name`."""
    name, pattern = _pattern(module)
    return name in _text(file) and pattern.search(_text(file)) is not None


@cache
def _pattern(module: Path) -> tuple[str, re.Pattern]:
    parts = module.with_suffix("").parts
    *package, name = parts[:-1] if parts[-1] == "__init__" else parts
    dotted = re.escape(".".join([*package, name]))
    imported = rf"from {re.escape('.'.join(package))} import (?:\([^)]*|[^\n(]*)\b{name}\b"
    return name, re.compile(rf"\b{dotted}\b(?!\.py)|{imported}")


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _modules_named(test: Path) -> int:
    """How many modules of ours a test imports from."""
    return len(set(re.findall(rf"^from ((?:{'|'.join(PACKAGES)})\b\S*) import", _text(test), flags=re.M)))


def _relative(paths: Iterable[Path]) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def main() -> int:
    since = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    chosen = {name for path in changed(since) for name in calls_for(path)}
    return pytest.main([ALWAYS, *sorted(chosen - {ALWAYS})])


if __name__ == "__main__":
    sys.exit(main())
