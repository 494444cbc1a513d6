"""No function sees what argparse made: all take dataclasses."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Models and tasks of fairseq_ext take fairseq's own namespaces, by the names that fairseq calls them by.
FOLDERS = ("data_prep", "fairseq_ext/commands", "embeddings", "eval", "llm")


def takes_args(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    parameters = function.args
    return "args" in {one.arg for one in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)}


def taking_args(folder: str) -> list[tuple[str, str]]:
    return [
        (str(path.relative_to(ROOT)), node.name)
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and takes_args(node)
    ]


def test_a_function_that_takes_args_is_seen():
    (function,) = ast.parse("def main(args): ...").body
    assert takes_args(function)


def test_nothing_takes_args():
    assert [one for folder in FOLDERS for one in taking_args(folder)] == []
