"""`mnmt PACKAGE …`: what `python -m PACKAGE …` is inside the repository, from any folder.

A file `eval.py` in the folder from which it is started is not run in place of ours.
"""

import ast
import os
import runpy
import sys

from multilingual_nmt import FOLDER, USER_DIR, put_first_on_path

BAD_INPUT = 2


def commands() -> dict[str, str]:
    """The packages that have commands, and what each says of itself."""
    mains = {path.parent.name: path for path in sorted(FOLDER.glob("*/__main__.py"))}
    mains.pop(__package__, None)
    return {
        name: (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or name).splitlines()[0]
        for name, path in mains.items()
    }


def overview() -> str:
    lines = ["usage: mnmt PACKAGE STEP [options]", "", "packages:"]
    lines += [f"  {name:<12}  {summary}" for name, summary in commands().items()]
    lines += ["", 'mnmt user-dir prints the folder for: fairseq-train --user-dir "$(mnmt user-dir)"']
    return "\n".join([*lines, "mnmt PACKAGE --help lists the steps of a package."])


def _print(text) -> None:
    """Print, or end with one line if standard output is full or closed."""
    try:
        print(text, flush=True)
    except OSError as error:
        print(f"error: standard output: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(BAD_INPUT)  # Python itself would try to write the text again


def main() -> int:
    """Run what the arguments of this process say; returns the exit status."""
    name, *rest = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        _print(overview())
        return 0 if sys.argv[1:] else BAD_INPUT
    if name == "user-dir" and not rest:
        _print(USER_DIR)
        return 0
    if name not in commands():
        expected = ", ".join([*commands(), "user-dir"])
        print(f"error: mnmt {' '.join([name, *rest])}: expected one of: {expected}", file=sys.stderr)
        return BAD_INPUT
    put_first_on_path()
    sys.argv = ["-m", *rest]  # as the interpreter has it while it looks for the package of `python -m`
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
