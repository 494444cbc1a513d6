"""Average checkpoints of one training: the mean of their weights, as a checkpoint without optimizer.

Give the checkpoints, or the folder of a training and which of them: `--last N`, those of the most updates,
or `--best N`, those of the best validation. Read it as any other checkpoint; to hand it over with its
dictionary and preparation, see `package`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, positional
from command_line.outputs import atomic_path

COUNT = options.whole_number(2, 1000)


def checkpoint_file() -> Any:
    """The field `output` of commands that write a checkpoint."""
    return option("the checkpoint to write, FILE.pt", compare=False, required=True, type=options.output_file)


@dataclass(frozen=True)
class ChoiceOptions:
    """Which checkpoints."""

    checkpoints: list[Path] = positional(
        "a checkpoint, or with --last or --best the folder of a training", metavar="CHECKPOINT"
    )
    last: int | None = option("the N checkpoints of the most updates", type=COUNT, metavar="N")
    best: int | None = option("the N checkpoints of the best validation", type=COUNT, metavar="N")

    def chosen(self):
        """A `checkpoints.choosing.Choice`, in the order of the training where one of them is asked for.

        Raises:
            InputError: a folder without `last` or `best`; both; not so many; a file that is no checkpoint.
        """
        from fairseq_ext.checkpoints import choosing

        if self.last and self.best:
            raise InputError("--last and --best: expected one of them")
        folders = [path for path in self.checkpoints if path.is_dir()]
        if not (self.last or self.best):
            if folders:
                raise InputError(
                    f"{folders[0]}: is a folder; expected --last N or --best N with it, or files"
                )
            return choosing.Choice(_each_once(self.checkpoints))
        candidates = [choosing.Candidate.read(path) for path in choosing.checkpoints_in(self.checkpoints)]
        checkpoints = (
            choosing.last(candidates, self.last) if self.last else choosing.best(candidates, self.best)
        )
        return choosing.Choice([checkpoint.path for checkpoint in checkpoints], checkpoints)


def _each_once(paths: list[Path]) -> list[Path]:
    """Files that are given by name: one that is given twice would weigh twice."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise InputError(f"{path}: occurs twice; expected different checkpoints")
        seen.add(path.resolve())
    return paths


@dataclass(frozen=True, kw_only=True)
class AverageJob:
    """Which checkpoints are averaged."""

    choice: ChoiceOptions
    output: Path = checkpoint_file()
    force: bool = force_switch()


def main(job: AverageJob) -> None:
    choice = job.choice.chosen()
    paths = choice.paths
    if len(paths) < 2:
        raise InputError(f"{paths[0]}: one checkpoint; expected two or more to average")
    output = job.output
    if output.resolve() in {path.resolve() for path in paths}:
        raise InputError(f"--output {output}: is one of the checkpoints, expected another file")
    files = [path for path in paths if path.is_file()]
    stamp = Stamp.of_checkpoint(output, "average", {}, files)
    if stamp.is_current(job.force):
        return
    average(choice, output, stamp)
    print(f"average: {len(paths)} checkpoints: {', '.join(path.name for path in paths)}")


def average(choice, output: Path, stamp: Stamp) -> None:
    """Check that the checkpoints are of one training, and write their mean."""
    from fairseq_ext.set_up import set_up_process

    set_up_process()

    import torch

    from fairseq_ext.checkpoints import choosing
    from fairseq_ext.checkpoints.averaging import mean_of

    choosing.check_one_training(choice.candidates())
    stamp.begin()
    with atomic_path(output) as temporary:
        torch.save(mean_of(choice.paths), temporary)
    stamp.finish([output])
