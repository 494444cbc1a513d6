"""Start from mBART: a checkpoint of ours from fairseq's mBART-25, trimmed to the corpus (thesis 5.2.3).

PRETRAINED is mBART's folder as it is published: model.pt, dict.txt, sentence.bpe.model. DATA was made with
`python -m data_prep subword --pretrained PRETRAINED`. Embedding rows are kept in the order of DATA's
dictionary, followed by the tags of the languages; `<mask>` and all other rows go. The first lines of a set
of DATA are then run through fairseq's own mBART and through the trimmed model: if their logits differ,
nothing is written.

The checkpoint is for `fairseq-train --finetune-from-model` (or --restore-file with all four --reset-…) with
the task multilingual_nmt, and for `python -m eval`; the options that training needs are printed.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import force_switch, option
from command_line.outputs import atomic_path
from data_prep.formats.dictionary import read_symbols
from data_prep.formats.preparation import Preparation
from fairseq_ext.commands.average import checkpoint_file

MODEL, DICTIONARY = "model.pt", "dict.txt"


@dataclass(frozen=True, kw_only=True)
class TrimJob:
    """Which checkpoint is trimmed to which data, and how that is checked: options of the command."""

    pretrained: Path = option("folder with model.pt and dict.txt", required=True)
    data: Path = option("binarized folder (data_prep binarize)", required=True)
    output: Path = checkpoint_file()
    langs: list[str] | None = option(
        "languages with a tag, in this order (default: of DATA, sorted)", type=options.items(options.text)
    )
    tags: list[tuple[str, str]] = option(
        "mBART's tag of a language, for example de=de_DE (default: the one that begins with LANG_)",
        [],
        nargs="+",
        type=options.assignment("de=de_DE"),
        metavar="LANG=NAME",
    )
    mbart_langs: list[str] | None = option(
        "mBART's own languages in its order (default: of mBART-25)", type=options.items(options.text)
    )
    check_split: str = option("set of DATA on which outputs are compared", "valid", type=options.split)
    check_lines: int = option("lines per direction; 0: no comparison", 4, type=options.natural)
    force: bool = force_switch()


def main(job: TrimJob) -> None:
    preparation = Preparation.load(job.data)
    languages = job.langs or preparation.languages
    for language in languages:
        if language not in preparation.languages:
            raise InputError(
                f"--langs: {language!r} is not in {job.data}; it has {', '.join(preparation.languages)}"
            )
    given = dict(job.tags)
    for name in (MODEL, DICTIONARY):
        if not (job.pretrained / name).is_file():
            raise InputError(f"{job.pretrained / name}: no such file, expected mBART's")
    settings = {
        "dictionary": preparation.dictionary_sha256,
        "langs": languages,
        "tags": given,
        "mbart_langs": job.mbart_langs,
        "check_split": job.check_split,
        "check_lines": job.check_lines,
    }
    given_files = [job.pretrained / name for name in (MODEL, DICTIONARY)]
    stamp = Stamp.of_checkpoint(job.output, "trim-mbart", settings, given_files)
    if stamp.is_current(job.force):
        from fairseq_ext.checkpoints.reading import read_state

        options = read_state(job.output)["cfg"]["model"]
        print(shlex.join(training_options(options, languages, job.output)))
        return
    stamp.begin()
    pairs = preparation.pairs.get(job.check_split, {}) if job.check_lines else {}
    trim(job, languages, given, [pair for pair in pairs if set(pair.split("-")) <= set(languages)])
    stamp.finish([job.output])


def trim(job: TrimJob, languages: list[str], given: dict[str, str], pairs: list[str]) -> None:
    """Write the checkpoint; outputs are compared on `pairs`."""
    from fairseq_ext.set_up import set_up_process

    set_up_process()

    import torch

    from fairseq_ext.checkpoints import mbart, origin
    from fairseq_ext.checkpoints.reading import EMBEDDINGS, as_one_line, read_weights
    from fairseq_ext.commands.mbart_comparison import batches, check_outputs, fairseqs_mbart

    if job.check_lines and not pairs:
        raise InputError(f"{job.data}: no set {job.check_split!r}; --check-split chooses another one")
    path = job.pretrained / MODEL
    state = read_weights(path)
    weights = state["model"]
    with as_one_line(path):
        options = mbart.shape_of(weights, state.get("args"), path)
        vocabulary = vocabulary_of(job, len(weights[EMBEDDINGS[0]]))
        dictionary = job.data / f"dict.{languages[0]}.txt"
        tags = [vocabulary.tag_of(language, given) for language in languages]
        rows = vocabulary.rows(read_symbols(dictionary), tags, dictionary)
        task = task_of(job.data, languages, pairs, options)
        model = task.build_model(options)
        model.load_state_dict(mbart.trimmed(weights, rows))
        if pairs:
            original = fairseqs_mbart(weights, options, vocabulary)
            samples = batches(task, job.check_split, job.check_lines)
            tokens = check_outputs(original, model.eval(), rows, samples, path)
            print(f"trim-mbart: equal outputs at {tokens} tokens")
        said = {"lang_pairs": [], origin.FIELD: origin.origin_of_file(path)}
    state = mbart.checkpoint(model.state_dict(), options, task.state_dict() | said)
    with atomic_path(job.output) as temporary:
        torch.save(state, temporary)
    print(f"trim-mbart: {len(rows)} of {len(vocabulary)} embeddings kept; options for fairseq-train:")
    print(shlex.join(training_options(options, languages, job.output)))


def vocabulary_of(job: TrimJob, embeddings: int):
    """mBART's vocabulary; refused if its checkpoint has another number of embeddings."""
    from fairseq_ext.checkpoints.mbart import LANGUAGES, MbartVocabulary

    path = job.pretrained / DICTIONARY
    languages = job.mbart_langs or LANGUAGES
    vocabulary = MbartVocabulary(read_symbols(path), languages)
    if len(vocabulary) != embeddings:
        raise InputError(
            f"{job.pretrained / MODEL}: {embeddings} embeddings, but {path} with {len(languages)} languages"
            f" and <mask> makes {len(vocabulary)}; --mbart-langs names its languages"
        )
    return vocabulary


def task_of(data: Path, languages: list[str], pairs: list[str], options):
    """The task as it would be for training."""
    from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask

    both = [direction for pair in pairs for direction in (pair, "-".join(pair.split("-")[::-1]))]
    cfg = MultilingualNmtConfig(
        data=str(data),
        lang_pairs=",".join(both) or "-".join(languages[:2]),
        langs=",".join(languages),
        language_tags="mbart",
        max_source_positions=options.max_source_positions,
        max_target_positions=options.max_target_positions,
        train_subset="train",
        seed=1,
    )
    return MultilingualNmtTask.setup_task(cfg)


def training_options(options, languages: list[str], checkpoint: Path) -> list[str]:
    words = ["--task", "multilingual_nmt", "--langs", ",".join(languages), "--language-tags", "mbart"]
    words += ["--arch", options.arch, "--finetune-from-model", str(checkpoint)]
    for side in ("source", "target"):
        words += [f"--max-{side}-positions", str(getattr(options, f"max_{side}_positions"))]
    return words
