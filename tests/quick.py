"""`make quick`: the tests of what has changed since the last commit, or since the one that is given.

A test file is run if it changed itself, or if it names a module that changed. If many do, those in the folder
of the module are enough; if none does, those of its folder are run.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MANY = 12
ALWAYS = "tests/test_imports.py"
OF_PAGES = ["tests/test_bibliography.py", "tests/test_readme.py"]


def changed(since: str, root: Path = ROOT) -> list[Path]:
    """Files that differ from a commit, relative to the root, and those that git does not know yet."""
    found = []
    for words in (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
        found += done.stdout.splitlines()
    return [Path(name) for name in found]


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
    naming = _relative(file for file in ROOT.glob("tests/**/test_*.py") if _names(file, path))
    near = [name for name in naming if path.parts[0] in Path(name).parts]
    if not naming:
        mirror = next(
            ROOT / "tests" / folder for folder in path.parents if (ROOT / "tests" / folder).is_dir()
        )
        return _relative(mirror.glob("test_*.py"))
    return near if len(naming) > MANY else naming


def _relative(paths: Iterable[Path]) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def _names(test: Path, path: Path) -> bool:
    """Whether a test file names a module: `package.name`, or `from package import name`."""
    parts = path.with_suffix("").parts
    *package, name = parts[:-1] if parts[-1] == "__init__" else parts
    text = test.read_text(encoding="utf-8")
    dotted = re.escape(".".join([*package, name]))
    imported = rf"from {re.escape('.'.join(package))} import (?:\([^)]*|[^\n(]*)\b{name}\b"
    return re.search(rf"\b{dotted}\b(?!\.py)|{imported}", text) is not None


def main() -> int:
    since = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    chosen = {name for path in changed(since) for name in calls_for(path)}
    return pytest.main([ALWAYS, *sorted(chosen - {ALWAYS})])


if __name__ == "__main__":
    sys.exit(main())
