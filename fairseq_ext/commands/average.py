"""Average checkpoints of one training: the mean of their weights, as a checkpoint without optimizer.

Give the checkpoints, or the folder of a training and which of them: `--last N`, those of the most updates,
or `--best N`, those of the best validation. Read it as any other checkpoint; to hand it over with its
dictionary and preparation, see `package`.
"""

from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from command_line.outputs import atomic_path

COUNT = options.whole_number(2, 1000)


@dataclass(frozen=True)
class ChoiceOptions:
    """Which checkpoints.

    Attributes:
        checkpoints: files, and folders of trainings.
        last: so many of the most updates.
        best: so many of the best validation.
    """

    checkpoints: list[Path]
    last: int | None
    best: int | None

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
        found = choosing.last(candidates, self.last) if self.last else choosing.best(candidates, self.best)
        return choosing.Choice([one.path for one in found], found)


def _each_once(paths: list[Path]) -> list[Path]:
    """Files that are given by name: one that is given twice would weigh twice."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise InputError(f"{path}: occurs twice; expected different checkpoints")
        seen.add(path.resolve())
    return paths


def add_choice_arguments(parser) -> None:
    """The options of `ChoiceOptions`."""
    parser.add_argument(
        "checkpoints",
        nargs="+",
        type=options.path,
        metavar="CHECKPOINT",
        help="a checkpoint, or with --last or --best the folder of a training",
    )
    parser.add_argument("--last", type=COUNT, metavar="N", help="the N checkpoints of the most updates")
    parser.add_argument("--best", type=COUNT, metavar="N", help="the N checkpoints of the best validation")


def add_arguments(parser) -> None:
    add_choice_arguments(parser)
    parser.add_argument(
        "--output", required=True, type=options.output_file, help="the checkpoint to write, FILE.pt"
    )
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def main(args) -> None:
    import fairseq_ext.plug_ins  # noqa: F401 (registers what the options name)

    choice = from_arguments(ChoiceOptions, args).chosen()
    paths = choice.paths
    if len(paths) < 2:
        raise InputError(f"{paths[0]}: one checkpoint; expected two or more to average")
    output = args.output
    if output.resolve() in {path.resolve() for path in paths}:
        raise InputError(f"--output {output}: is one of the checkpoints, expected another file")
    files = [path for path in paths if path.is_file()]
    stamp = Stamp.of_checkpoint(output, "average", {}, files)
    if stamp.is_current(args.force):
        return
    average(choice, output, stamp)
    print(f"average: {len(paths)} checkpoints: {', '.join(path.name for path in paths)}")


def average(choice, output: Path, stamp: Stamp) -> None:
    """Check that the checkpoints are of one training, and write their mean.

    Args:
        choice: of two checkpoints or more.

    Raises:
        InputError: as `choosing.check_one_training` and `averaging.mean_of`.
    """
    import torch

    from fairseq_ext.checkpoints import choosing
    from fairseq_ext.checkpoints.averaging import mean_of

    choosing.check_one_training(choice.candidates())
    stamp.begin()
    with atomic_path(output) as temporary:
        torch.save(mean_of(choice.paths), temporary)
    stamp.finish([output])
