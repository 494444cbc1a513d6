"""Put a trained system into one folder that can be handed over: `eval` and `embeddings` take it as it is.

It holds the weights without the optimizer, the options, the dictionary, the language tags, the subword model
and the names of tokenizers, and with `--sets test` the evaluation sets with their raw text. Of several
checkpoints, or of a training's folder with `--last` or `--best`, it holds the mean (`--combine average`), or
all of them, whose probabilities are averaged at every step of a search (`--combine ensemble`).
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.errors import InputError, check_file
from command_line.option_classes import force_switch, option, output_folder
from command_line.outputs import atomic_path, checksum, copy_file
from data_prep.formats.dictionary import dictionary_path, languages_with_dictionary
from data_prep.formats.package import NAME, dataset_of
from data_prep.formats.preparation import FILE_NAME, Preparation
from data_prep.formats.sentences import is_sentence_file
from data_prep.step_folder import StepFolder
from data_prep.subword_models import MODEL_FILES
from fairseq_ext.checkpoints.tasks import with_languages
from fairseq_ext.commands.average import ChoiceOptions

AVERAGE, ENSEMBLE = "average", "ensemble"
MOST_MODELS = 100


@dataclass(frozen=True, kw_only=True)
class PackageJob:
    """What is packaged."""

    choice: ChoiceOptions
    data: Path = option("binarized folder of the training (data_prep binarize)", required=True)
    combine: str | None = option(
        "of several checkpoints: the mean of their weights, or all of them", choices=(AVERAGE, ENSEMBLE)
    )
    sets: list[str] = option(
        "evaluation sets of DATA to put into the folder, such as test (default: none)",
        [],
        type=options.items(options.split),
        metavar="SET,…",
    )
    output: Path = output_folder("the package")
    force: bool = force_switch()


def main(job: PackageJob) -> None:
    from fairseq_ext.set_up import set_up_process

    set_up_process()
    checkpoints = job.choice.chosen().paths
    check_combination(job.combine, checkpoints)
    preparation = Preparation.load(job.data)
    copied = files_of_data(job, preparation)
    names = model_names(job.combine, checkpoints)
    settings = {
        "models": names,
        "combine": job.combine,
        "sources": [{"file": path.name, "sha256": checksum_of(path)} for path in checkpoints],
        "sets": job.sets,
        "dataset": dataset_of(job.data),
    }
    reads = [*checkpoints, job.data / FILE_NAME, *(job.data / name for name in copied)]
    step = StepFolder(job.output, NAME, settings, reads=reads, inputs=(job.data,))
    if step.is_complete(job.force):
        return
    check_checkpoints(job, checkpoints)
    with step.writing(is_package_file, subfolder="text"):
        for name in copied:
            copy_file(job.data / name, job.output / name)
        of_sets(preparation, job.sets, job.output).save()
        write_models(job, checkpoints, [job.output / name for name in names])
    print(job.output)


def check_combination(combine: str | None, checkpoints: list[Path]) -> None:
    """Several checkpoints are combined, one is not.

    Raises:
        InputError: as it says.
    """
    if len(checkpoints) > MOST_MODELS:
        raise InputError(f"{len(checkpoints)} checkpoints: expected at most {MOST_MODELS}")
    if len(checkpoints) > 1 and combine is None:
        raise InputError(
            f"{len(checkpoints)} checkpoints: expected --combine {AVERAGE} or --combine {ENSEMBLE} with them"
        )
    if len(checkpoints) == 1 and combine is not None:
        raise InputError(f"--combine {combine}: found one checkpoint, expected two or more")


def model_names(combine: str | None, checkpoints: list[Path]) -> list[str]:
    """Names of the checkpoints in the folder."""
    if combine != ENSEMBLE:
        return ["model.pt"]
    return [f"model{number}.pt" for number in range(1, len(checkpoints) + 1)]


def checksum_of(path: Path) -> str:
    check_file(path, "a fairseq checkpoint")
    return checksum(path)


def files_of_data(job: PackageJob, preparation: Preparation) -> list[str]:
    """Files that are copied, by their paths below the binarized folder.

    Raises:
        InputError: there is no dictionary, or a set has no files.
    """
    languages = languages_with_dictionary(job.data)
    if not languages:
        raise InputError(f"{job.data}: no dict.LANG.txt in it, expected a binarized folder")
    names = [dictionary_path(job.data, language).name for language in languages]
    names += [model] if (model := preparation.subword["model"]) else []
    for name in job.sets:
        files = sorted(
            path.name for ending in ("idx", "bin") for path in job.data.glob(f"{name}.*-*.*.{ending}")
        )
        if not files:
            raise InputError(f"--sets {name}: no such set of pairs in {job.data}")
        names += files
        names += sorted(f"text/{path.name}" for path in job.data.glob(f"text/{name}.*"))
    return names


def of_sets(preparation: Preparation, sets: list[str], folder: Path) -> Preparation:
    """The record of a folder with some sets of another one."""
    return dataclasses.replace(
        preparation,
        folder=folder,
        pairs={name: pairs for name, pairs in preparation.pairs.items() if name in sets},
        text_sha256={
            name: digest for name, digest in preparation.text_sha256.items() if name.split(".")[0] in sets
        },
        monolingual={},
    )


def check_checkpoints(job: PackageJob, checkpoints: list[Path]) -> None:
    """Every checkpoint is of this data and in order, and they go together.

    Raises:
        InputError: as `load_for_inference` and `load_ensemble`, or `choosing.check_one_training`.
    """
    from fairseq_ext.checkpoints import choosing
    from fairseq_ext.inference import load_ensemble, load_for_inference

    if job.combine == ENSEMBLE:
        load_ensemble(checkpoints, job.data)
        return
    choosing.check_one_training(
        [
            choosing.Candidate.of(load_for_inference(path, job.data, translates=False).state, path)
            for path in checkpoints
        ]
    )


def write_models(job: PackageJob, checkpoints: list[Path], outputs: list[Path]) -> None:
    """Write the checkpoints of the folder, and read them again: from now on they have to do without DATA."""
    import torch

    from fairseq_ext.checkpoints.averaging import for_inference, mean_of
    from fairseq_ext.checkpoints.reading import read_state
    from fairseq_ext.inference import load_for_inference

    for number, output in enumerate(outputs):
        if job.combine == AVERAGE:
            state = mean_of(checkpoints)
        else:
            state = for_inference(read_state(checkpoints[number]))
        state = with_languages(state, checkpoints[number], job.data)
        with atomic_path(output) as temporary:
            torch.save(state, temporary)
        load_for_inference(output, output.parent, translates=False)


def is_package_file(path: Path) -> bool:
    return (
        is_sentence_file(path)
        or (path.name.startswith("model") and path.suffix == ".pt")
        or path.name.startswith("dict.")
        or path.name in {FILE_NAME, *filter(None, MODEL_FILES.values())}
        or path.parent.name == "text"
    )
