"""Write a trained sentence encoder in the format of another library, with equal vectors.

`--to sentence-transformers`: a folder that `SentenceTransformer(FOLDER).encode` reads without our code: a
stock model of transformers, a tokenizer, pooling, and a model card, filled from the checkpoint and its data.
`--to transformers`: a folder of that library, of an encoder that was trained from one
(`--pretrained-encoder`). `--to onnx`: a folder for processors without PyTorch, `model.onnx` with the
tokenizer; `--precision int8` makes 8-bit products of its linear layers. `python -m embeddings` reads all.

Lines of every language are encoded by the checkpoint and by the folder, from raw text; if a token id or a
vector differs, nothing is written. What the other library cannot express is refused with the reason.
"""

import functools
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from command_line.outputs import scratch_folder

RECORD = "export.json"
PRECISIONS = ("float32", "int8")


@dataclass(frozen=True)
class ExportJob:
    """What is exported, and how that is checked: options of the command.

    Attributes:
        checkpoint: of a sentence encoder, or of a translation model, whose mean states are then the vectors.
        data: the binarized folder that it was trained on.
        to: a key of FORMATS.
        output: the folder to write.
        precision: of the products; 8 bits are of onnx only.
        pretokenized: text is split into words before it comes to the exported tokenizer.
        check_text: files whose lines are compared; empty for the evaluation sets in `data`.
        check_lines: of a file; 0 compares nothing.
    """

    checkpoint: Path
    data: Path
    to: str
    output: Path
    precision: str
    pretokenized: bool
    check_text: list[Path]
    check_lines: int


def add_arguments(parser) -> None:
    parser.add_argument("checkpoint", type=options.path, metavar="CHECKPOINT", help="of the encoder")
    parser.add_argument("output", type=options.output_folder, metavar="OUT", help="folder to write")
    parser.add_argument("--to", required=True, choices=list(FORMATS), help="format of the folder")
    parser.add_argument(
        "--data",
        required=True,
        type=options.path,
        help="binarized folder of its training (data_prep binarize)",
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=PRECISIONS[0],
        help="of products with weights; int8: onnx only",
    )
    parser.add_argument(
        "--pretokenized",
        action="store_true",
        help="of data whose text was split into words: the folder expects text that has been split already",
    )
    parser.add_argument(
        "--check-text",
        nargs="+",
        type=options.path,
        default=[],
        metavar="FILE",
        help="lines to compare, a language per file, which ends its name (default: evaluation sets of DATA)",
    )
    parser.add_argument(
        "--check-lines", type=options.natural, default=40, help="lines of a file; 0: no comparison"
    )
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def main(args) -> None:
    job = from_arguments(ExportJob, args)
    if job.precision != PRECISIONS[0] and job.to != "onnx":
        raise InputError(f"--precision {job.precision}: of --to onnx; vectors of {job.to} are float32")
    settings = {
        "to": job.to,
        "precision": job.precision,
        "pretokenized": job.pretokenized,
        "check_lines": job.check_lines,
    }
    inputs = [job.checkpoint, *sorted(job.data.glob("subword.*")), *sorted(job.data.glob("dict.*.txt"))]
    inputs += [path for path in (job.data / "preparation.json", *job.check_text) if path.is_file()]
    stamp = Stamp(job.output / RECORD, "export", settings, [path for path in inputs if path.is_file()])
    if stamp.is_current(args.force):
        return
    stamp.begin()
    with scratch_folder(job.output) as folder:
        export(job, folder)
        written = move_into(folder, job.output)
    stamp.finish(written)
    print(job.output)


def export(job: ExportJob, folder: Path) -> None:
    """Write the files of the format into an empty folder, and compare.

    Raises:
        InputError: as `load_for_inference`; the format cannot express the model; a vector differs.
    """
    import fairseq_ext.plug_ins  # noqa: F401 (registers task and model)
    from data_prep.formats.preparation import Preparation
    from fairseq_ext.export.parity import check_parity, check_texts
    from fairseq_ext.inference import load_for_inference

    form = FORMATS[job.to]()
    loaded = load_for_inference(job.checkpoint, job.data, translates=False)
    preparation = Preparation.load(job.data)
    tokenizer, card = form.write(job, loaded, preparation, folder)
    if job.check_lines:
        words = tokenizer.longest - tokenizer.has_cls
        texts = check_texts(preparation, loaded.task.dictionary, job.check_text, job.check_lines, words)
        encode, least = form.encoder(folder, tokenizer, loaded), form.least[job.precision]
        parity = check_parity(texts, tokenizer, loaded, encode, least)
        (folder / "README.md").write_text(card.text(parity), encoding="utf-8")
        print(f"export: {parity['lines']} lines, lowest cosine {parity['lowest_cosine']:.7f}")


def write_graph(form, job: ExportJob, loaded, preparation, folder: Path):
    """Write an encoder of our own layers, or of fairseq's, as a graph of tensors.

    Args:
        form: module of the format, with `check_graph` and `write_folder`.

    Returns:
        the tokenizer of the folder, and its model card.
    """
    import dataclasses

    import torch

    from fairseq_ext.export.encoder_graph import graph_of, refusal
    from fairseq_ext.export.model_card import Card
    from fairseq_ext.export.pretrained_folder import is_pretrained
    from fairseq_ext.export.tokenizer import exported_tokenizer

    placement = loaded.task.tags.placement
    if placement.encoder or placement.source_ending:
        raise refusal(job.checkpoint, "its encoder reads a language tag, and a tokenizer knows no language")
    if is_pretrained(loaded):
        raise refusal(job.checkpoint, "its layers are those of transformers", "choose --to transformers")
    encoder = loaded.model.encoder
    has_cls = getattr(encoder, "cls", None) is not None
    words = min(loaded.task.max_positions()[0], encoder.max_positions())
    graph = graph_of(encoder, loaded.state["cfg"]["model"], words + has_cls, job.checkpoint)
    form.check_graph(graph, job.checkpoint)
    tokenizer = exported_tokenizer(
        preparation, loaded.task.dictionary, words + has_cls, has_cls, job.pretokenized, job.checkpoint
    )
    card = Card(job.checkpoint, loaded, preparation, graph, tokenizer.expects, job.to)
    rows = torch.from_numpy(tokenizer.rows)
    graph = dataclasses.replace(graph, tokens=graph.tokens[rows])
    form.write_folder(folder, graph, tokenizer, card.text({}), job.precision)
    return tokenizer, card


def move_into(folder: Path, output: Path) -> list[Path]:
    """Move all files to the same places below `output`."""
    written, mode = [], (folder / "README.md").stat().st_mode
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        target = output / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
        target.chmod(mode)  # some libraries let nobody but the owner read their files
        written.append(target)
    return written


@dataclass(frozen=True)
class Format:
    """A format of folders.

    Attributes:
        write: (job, loaded checkpoint, preparation of the data, folder) -> tokenizer of the folder, and its
            model card; refuses what the format cannot express.
        encoder: (folder, tokenizer, loaded checkpoint) -> a function from sentences to vectors, by the
            library alone.
        least: precision -> cosine with the checkpoint's vector that every line must have.
    """

    write: Callable
    encoder: Callable
    least: dict[str, float]


def _of_graph(form) -> Format:
    """A format that a module writes from the graph of an encoder."""
    return Format(
        functools.partial(write_graph, form),
        lambda folder, tokenizer, _: form.encoder_of(folder, tokenizer),
        form.LEAST,
    )


def _sentence_transformers() -> Format:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the libraries are imported
    if importlib.util.find_spec("sentence_transformers") is None:
        raise InputError("--to sentence-transformers: is not installed: pip install '.[embed]'")
    from fairseq_ext.export import sentence_transformers_folder as form

    return _of_graph(form)


def _onnx() -> Format:
    for library in ("onnx", "onnxruntime", "transformers"):
        if importlib.util.find_spec(library) is None:
            raise InputError(f"--to onnx: {library} is not installed: pip install '.[embed,onnx]'")
    from fairseq_ext.export import onnx_folder as form

    return _of_graph(form)


def _transformers() -> Format:
    if importlib.util.find_spec("transformers") is None:
        raise InputError("--to transformers: is not installed: pip install '.[embed]'")
    from fairseq_ext.export import pretrained_folder as form

    return Format(form.write_folder, form.encoder_of, form.LEAST)


FORMATS: dict[str, Callable[[], Format]] = {
    "sentence-transformers": _sentence_transformers,
    "transformers": _transformers,
    "onnx": _onnx,
}
