"""Each file of a DATA folder has one reader and writer: no other module knows how it is named or laid out."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ("command_line", "data_prep", "fairseq_ext", "embeddings", "eval")
OF_CTRANSLATE2 = "model.bin"
SUFFIXES = (".idx", ".bin", ".alignment", ".bunsetsu", ".phrases")
MAGIC = ("MMIDIDX", "WORDALGN", "BUNSETSU", "PHRASES_")


def literals(path: Path) -> list[str]:
    """The texts in a module, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [node.value for node in constants if isinstance(node.value, str) and id(node) not in documents]


def test_no_other_module_opens_these_files():
    modules = [path for source in SOURCES for path in (ROOT / source).rglob("*.py")]
    others = [path for path in modules if path.parent != ROOT / "data_prep/formats"]
    assert len(others) > 100 and len(modules) - len(others) >= 8
    found = {
        (path.relative_to(ROOT).as_posix(), text)
        for path in others
        for text in literals(path)
        if text.startswith(MAGIC) or (text.endswith(SUFFIXES) and not text.startswith("data_prep."))
        if text != OF_CTRANSLATE2
    }
    assert not found
