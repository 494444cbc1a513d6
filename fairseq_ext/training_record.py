"""What a folder of a training says of it: `training.json`, of the options, the data and the best checkpoint.

    options      as fairseq-train was given them, but those that change nothing of what is learned
    inputs       what was read: the files of the binarized folder, and the checkpoint that it started from
    outputs      checkpoint_best.pt, of a training that has come to its end; null before

A training is skipped only if all of that still holds, goes on if it did not come to its end, and is refused
in one line otherwise: nothing that took days is removed without being asked for.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from typing_extensions import NotRequired, TypedDict

from command_line.completion import check_finished, file_identity
from command_line.errors import InputError
from command_line.outputs import write_json
from command_line.records import read_record
from data_prep.formats.alignments import is_alignment_file
from data_prep.formats.sentences import index_path
from data_prep.formats.structures import is_structure_file
from data_prep.formats.teacher_vectors import is_stored_file, is_stored_of
from data_prep.model_folders.identity import check_folder
from fairseq_ext.checkpoints.progress import BEST, LAST
from fairseq_ext.checkpoints.whole import is_whole
from fairseq_ext.data.noising.tasks import TASKS, parse_mixtures

RECORD = "training.json"
LOG = "train.log"
CURVES = "tensorboard"  # a folder
_ADVICE = "train anew with --force, or give another --output"
_STARTS = (  # are known by their contents, not their path
    "--pretrained-checkpoint", "--pretrained-dictionary", "--finetune-from-model", "--pretrained-encoder",
    "--teacher-checkpoint", "--word-dictionaries",
)  # fmt: skip
_NOT_LEARNED = {
    "--log-format", "--log-interval", "--log-file", "--no-progress-bar", "--tensorboard-logdir",
    "--wandb-project", "--num-workers", "--data-buffer-size", "--keep-interval-updates",
}  # fmt: skip
_DEVICES = {  # and where it is saved
    "--user-dir", "--save-dir", "--update-freq", "--cpu", "--fp16", "--autocast-bf16", "--ddp-backend",
    "--distributed-world-size", "--distributed-backend", "--distributed-init-method", "--distributed-rank",
    "--distributed-no-spawn",
}  # fmt: skip
_PRETRAINING, _TRANSLATIONS = "--pretraining-tasks", "--translation-data"


class Recorded(TypedDict):
    """The file."""

    format: Literal[1]
    options: dict[str, str]
    inputs: dict[str, dict]
    outputs: NotRequired[dict[str, dict] | None]


class TrainingRecord:
    """The record of a training, and what there is now.

    Args:
        data: the binarized folder that it reads.
        options: of fairseq-train, as words. Those that name devices and precision may change.
    """

    def __init__(self, folder, data, options: Sequence[str]):
        self.folder, self.path = Path(folder), Path(folder) / RECORD
        given = parse_options(options)
        given.pop("", None)  # the binarized folder
        starts = {name: Path(given.pop(name)) for name in _STARTS if name in given}
        self.options = {name: value for name, value in given.items() if name not in _NOT_LEARNED | _DEVICES}
        check_finished(data)
        self.files = {path.name: path for path in files_read(data, self.options)}
        if others := self.options.get(_TRANSLATIONS):  # of a pre-training, which translates text of its own
            self.files |= {f"{_TRANSLATIONS} {path.name}": path for path in files_read(others, self.options)}
        for name, path in starts.items():
            self.files |= _files_of_start(name, path)
        self.inputs = {name: file_identity(path) for name, path in self.files.items()}

    def begin(self) -> bool:
        """Whether there is something to train; the folder says from now on what.

        Raises:
            InputError: what is there is another training, or not all of it is there.
        """
        record = self._recorded()
        if record is None:
            self._write(outputs=None)
            return True
        self._check_same(record)
        if record["outputs"] is None:
            return True
        for name, written in record["outputs"].items():
            path = self.folder / name
            if not path.is_file():
                raise InputError(f"{path}: is gone since this training came to its end; {_ADVICE}")
            if file_identity(path) != written:
                raise InputError(f"{path}: has changed since this training came to its end; {_ADVICE}")
        return False

    def _recorded(self) -> Recorded | None:
        if self.path.exists():
            return read_record(self.path, Recorded)
        if (self.folder / LAST).exists():
            raise InputError(f"{self.folder}: has {LAST}, but no record of its training; {_ADVICE}")
        return None

    def _check_same(self, record: dict) -> None:
        recorded, own = record["options"], self.options
        done = "began" if record["outputs"] is None else "was trained"
        for name in recorded | own:
            if recorded.get(name) != own.get(name):
                before, now = (_shown(name, options.get(name)) for options in (recorded, own))
                raise InputError(f"{self.folder}: {done} {before}, found {now}; {_ADVICE}")
        for option in sorted(_starts(self.inputs) - _starts(record["inputs"])):
            raise InputError(f"{self.folder}: {done} without {option}, found with {option}; {_ADVICE}")
        for name, identity in record["inputs"].items():
            if self.inputs.get(name) != identity:
                path = self.files.get(name, name)
                what = "has changed" if name in self.inputs else "is gone"
                raise InputError(f"{self.folder}: {done} with other data: {path} {what} since; {_ADVICE}")
        for name in sorted(_texts_of_languages(self.inputs, self.options) - record["inputs"].keys()):
            path = self.files[name]
            raise InputError(f"{self.folder}: {done} with other data: {path} is new since; {_ADVICE}")

    def _write(self, outputs: dict | None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {"format": 1, "options": self.options, "inputs": self.inputs, "outputs": outputs}
        write_json(self.path, record)


def finish(folder) -> None:
    """The training has come to its end.

    Raises:
        InputError: its best checkpoint is not there, or not readable.
    """
    path = Path(folder) / RECORD
    record = read_record(path, Recorded)
    write_json(path, record | {"outputs": {BEST: _whole(Path(folder) / BEST)}})


def have_ended(models) -> list[Path]:
    """The folders of trainings in a folder that have come to their end.

    Raises:
        InputError: there is no such folder, no training in it, or a record that is not one.
    """
    models = Path(models)
    if not models.is_dir():
        raise InputError(f"{models}: no such folder; expected one with the folders of trainings")
    folders = [path for path in sorted(models.iterdir()) if path.is_dir()]
    if not folders:
        raise InputError(f"{models}: no folder in it; expected those of trainings")
    return [folder for folder in folders if has_ended(folder)]


def has_ended(folder) -> bool:
    """Whether a training has come to its end, as far as its folder says.

    Raises:
        InputError: its record is not one.
    """
    path = Path(folder) / RECORD
    return path.exists() and read_record(path, Recorded)["outputs"] is not None


def forget(folder) -> None:
    """Remove a training, so that another can take its place."""
    folder = Path(folder)
    for name in (RECORD, LOG, "precision.txt", "cpu_seconds.txt"):
        (folder / name).unlink(missing_ok=True)
    for checkpoint in folder.glob("*.pt"):
        checkpoint.unlink()
    shutil.rmtree(folder / CURVES, ignore_errors=True)


def parse_options(words: Sequence[str]) -> dict[str, str]:
    """Option -> its values as text; the last of several counts, as in fairseq."""
    options: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, sign, value = word.partition("=")
            options[name] = [value] if sign else []
        else:
            options.setdefault(name, []).append(word)
    return {name: " ".join(values) for name, values in options.items()}


def files_read(data, options: dict[str, str]) -> list[Path]:
    """The files of a binarized folder that a training with these options reads.

    Alignments of another aligner, vectors of another teacher, layers of another encoder and analyses that no
    task of the pre-training uses are none of them: they may come and go.

    Raises:
        InputError: there is no such folder, or nothing to train on in it.
    """
    data = Path(data)
    if not data.is_dir():
        raise InputError(f"{data}: no such folder; run the stage prepare first")
    structures, subsets = _structures(options), _subsets(options)
    aligned, aligner = _reads_alignments(options), options.get("--alignments")  # else by the only aligner
    vectors = {options.get(option) for option in ("--teacher", "--encoder-vectors")}
    layers = {options.get("--layer-sums")}
    files = [path for path in sorted(data.iterdir()) if path.name.split(".")[0] in subsets]
    if not files:
        raise InputError(
            f"{data}: nothing to train on; expected the output of `python -m data_prep binarize`"
        )
    return [
        path
        for path in files
        if (not is_alignment_file(path) or (aligned and is_alignment_file(path, aligner)))
        and (not is_structure_file(path) or path.suffix[1:] in structures)
        and (not is_stored_file(path) or is_stored_of(path, vectors, layers))
    ]


def _files_of_start(option: str, path: Path) -> dict[str, Path]:
    """A checkpoint, or the files of a folder that holds an encoder, by the option that names it.

    Raises:
        InputError: there is none.
    """
    if path.is_dir():
        return {f"{option} {file.relative_to(path)}": file for file in check_folder(path, option).paths()}
    if not path.is_file():
        raise InputError(f"{option} {path}: no such file; run the training that makes it first")
    return {option: path}


def _starts(inputs: Iterable[str]) -> set[str]:
    """The options that name what a training starts from, by its inputs."""
    return {name.split()[0] for name in inputs} & set(_STARTS)


def _mixtures(options: dict[str, str]) -> dict[str, dict[str, float]]:
    """The tasks of a pre-training by language; none of other trainings."""
    return parse_mixtures(options[_PRETRAINING], _PRETRAINING) if _PRETRAINING in options else {}


def _subsets(options: dict[str, str]) -> set[str]:
    """What the names of the files that a training reads begin with."""
    valid = options.get("--valid-subset", "valid").split(",")
    return {"dict", options.get("--train-subset", "train"), *(name.strip() for name in valid)}


def _reads_alignments(options: dict[str, str]) -> bool:
    if "--alignments" in options:
        return True
    if "--losses" not in options:
        return False
    from fairseq_ext.losses.registry import LOSSES

    named = [LOSSES[name] for name in map(str.strip, options["--losses"].split(",")) if name in LOSSES]
    return any("word_alignments" in loss.batch_fields for loss in named)


def _unpaired(inputs: Iterable[str], options: dict[str, str]) -> set[str]:
    """The languages of which a training without pairs of sentences reads all texts, as there is no bitext."""
    if "--unpaired" not in options:
        return set()
    pairs = ["-".join(sorted(pair.strip().split("-"))) for pair in options.get("--pairs", "").split(",")]
    train = options.get("--train-subset", "train")
    alone = [pair for pair in pairs if not any(name.startswith(f"{train}.{pair}.") for name in inputs)]
    return {language for pair in alone for language in pair.split("-")}


def _texts_of_languages(inputs: Iterable[str], options: dict[str, str]) -> set[str]:
    """A pre-training reads all binarized texts of its languages, `SPLIT.….LANG.idx`, and so does a training
    without pairs; others name the pairs that they read.
    """
    languages = {*_mixtures(options), *_unpaired(inputs, options)}
    indices = tuple(index_path(Path(f".{language}")).name for language in sorted(languages))
    return {name for name in inputs if name.endswith(indices) and not name.startswith("--")}


def _structures(options: dict[str, str]) -> set[str]:
    """The kinds of analyses that the tasks of a pre-training need."""
    mixtures = _mixtures(options).values()
    return {TASKS[task].needs for mixture in mixtures for task in mixture} - {None}


def _whole(best: Path) -> dict:
    if not best.is_file():
        raise InputError(f"{best}: no such file after training, see {LOG} beside it; {_ADVICE}")
    if not is_whole(best):
        raise InputError(f"{best}: is not a whole checkpoint; {_ADVICE}")
    return file_identity(best)


def _shown(name: str, value: str | None) -> str:
    return f"without {name}" if value is None else f"with {name} {value}".rstrip()
