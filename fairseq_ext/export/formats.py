"""The formats of `fairseq_ext export`."""

from dataclasses import dataclass
from importlib.util import find_spec

from command_line.errors import InputError


@dataclass(frozen=True)
class Format:
    """A format of folders.

    Attributes:
        module: of `fairseq_ext.export`, whose function `to_NAME` writes the files of a job into a folder.
        extra: of our installation, with the libraries.
        libraries: that must be installed.
        precisions: that it has, the default first.
    """

    module: str
    extra: str
    libraries: tuple[str, ...]
    precisions: tuple[str, ...] = ("float32",)

    def check(self, name: str, precision: str) -> None:
        """Refuse what is not installed, and a precision that the format lacks."""
        for library in self.libraries:
            if find_spec(library) is None:
                raise InputError(f"--to {name}: {library} is not installed: pip install '.[{self.extra}]'")
        if precision not in self.precisions:
            others = " and ".join(
                f"--to {other}" for other, form in FORMATS.items() if precision in form.precisions
            )
            precisions = ", ".join(self.precisions)
            raise InputError(f"--precision {precision}: needs {others}; --to {name} has {precisions}")


ENCODERS, TRANSLATION = "encoder_formats", "translation_formats"
FORMATS = {
    "fairseq": Format(TRANSLATION, "", ()),
    "sentence-transformers": Format(ENCODERS, "embed", ("sentence_transformers",)),
    "transformers": Format(TRANSLATION, "embed", ("transformers",)),
    "onnx": Format(ENCODERS, "embed,onnx", ("onnx", "onnxruntime", "transformers"), ("float32", "int8")),
    "ctranslate2": Format(
        TRANSLATION, "ctranslate2", ("ctranslate2",), ("float32", "int8", "int16", "float16", "bfloat16")
    ),
}
