"""A package of an extra that is not installed, as one line that says which extra has it."""

# Modules that are imported wherever they are needed; what is asked for by one option says so itself.
EXTRAS = {
    "accelerate": "embed",
    "ctranslate2": "ctranslate2",
    "faiss": "embed",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "peft": "llm",
    "pyarrow": "formats",
    "sentence_transformers": "embed",
    "sklearn": "embed",
    "transformers": "embed",
    "zstandard": "formats",
}


def explain_missing(error: BaseException | None) -> str | None:
    """The error as one line; None for any other error, and for a package that every installation has.

    Where a library could not import a part of itself, the package that this part needs is the error's cause.
    """
    while isinstance(error, ModuleNotFoundError):
        module = (error.name or "").split(".")[0]
        if module in EXTRAS:
            return f"{module} is not installed: pip install '.[{EXTRAS[module]}]'"
        error = error.__cause__
    return None
