"""Only the `main` of a command sees what argparse made; everything else takes dataclasses."""

import ast
from pathlib import Path

import eval

FOLDER = Path(eval.__file__).parent


def takes_args(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    parameters = function.args
    return "args" in {one.arg for one in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)}


def test_only_main_sees_argparse():
    taking = [
        (str(path.relative_to(FOLDER)), node.name)
        for path in sorted(FOLDER.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and takes_args(node)
    ]
    assert ("translation/translate.py", "main") in taking
    assert [one for one in taking if one[1] != "main"] == []
