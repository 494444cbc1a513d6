"""A training that goes on from its checkpoint, with what its task has saved there (`state_dict`).

fairseq saves that and gives it back to a task at inference alone: a training would go on, and say nothing,
with another dictionary of the same size, with languages in another order, with another teacher, and with the
count of improvements, or of validations without one, begun anew. Of the file, which one process reads and
sends to the others, the trainer keeps nothing but "extra_state", in which the state of the task therefore
travels.
"""

import functools
import textwrap
from collections.abc import Callable
from pathlib import Path

from fairseq import checkpoint_utils, trainer
from typing_extensions import NotRequired, Required

from command_line.errors import InputError
from command_line.records import check
from fairseq_ext.checkpoints.origin import FIELD as ORIGIN_FIELD
from fairseq_ext.checkpoints.origin import Start
from fairseq_ext.checkpoints.progress import LAST
from fairseq_ext.checkpoints.tasks import StateOfAnyTask
from fairseq_ext.checkpoints.whole import whole_or_newest
from fairseq_ext.data.teachers import TeacherState
from fairseq_ext.tasks import patience
from fairseq_ext.tasks.base import BaseTask
from fairseq_ext.tasks.improvements import SavedCount

KEY = "task_state"  # in a checkpoint, and on its way
CAN_GO_ON = "has_optimizer_state"  # on its way


class SavedTask(StateOfAnyTask):
    """What a task has saved."""

    initialized_from: NotRequired[Start | None]
    dictionary_sha256: Required[str]
    languages: Required[list[str]]
    unify_task_tokens: NotRequired[bool | None]
    translates: NotRequired[bool | None]
    improvements: NotRequired[SavedCount | None]
    patience: NotRequired[patience.SavedPatience | None]
    teacher: NotRequired[TeacherState | None]


class _TrainersUtilities:
    """The module `checkpoint_utils` as fairseq's trainer sees it."""

    def __getattr__(self, name: str):
        return getattr(checkpoint_utils, name)

    @staticmethod
    def load_checkpoint_to_cpu(*arguments, **options) -> dict:
        """A checkpoint, in whose "extra_state" that of the task lies, too."""
        state = checkpoint_utils.load_checkpoint_to_cpu(*arguments, **options)
        state.setdefault("criterion", None)  # of an average, or of a packaged system
        if isinstance(extra := state.get("extra_state"), dict):
            can_go_on = state.get("last_optimizer_state") is not None
            state["extra_state"] = {**extra, KEY: state.get(KEY), CAN_GO_ON: can_go_on}
        return state


def restore_tasks() -> None:
    """From here on, a training of this process that goes on gives its task what that has saved."""
    if not isinstance(trainer.checkpoint_utils, _TrainersUtilities):
        trainer.checkpoint_utils = _TrainersUtilities()
        trainer.Trainer.load_checkpoint = _with_task(trainer.Trainer.load_checkpoint)


def _with_task(load: Callable) -> Callable:
    @functools.wraps(load)
    def load_checkpoint(self, filename, reset_optimizer=False, *arguments, **options):
        filename = _readable(self, filename)
        try:
            extra = load(self, filename, reset_optimizer, *arguments, **options)
        except Exception as error:  # fairseq has no narrower one
            if other := _other_parameters(error):
                raise InputError(
                    f"{filename}: is of another architecture: {other}; give the options of the model that it"
                    " has"
                ) from None
            raise
        saved_state = extra if isinstance(extra, dict) else {}
        saved, can_go_on = saved_state.pop(KEY, None), saved_state.pop(CAN_GO_ON, True)
        if not isinstance(self.task, BaseTask):
            return extra
        if extra is None and (option := _names_a_file(self.cfg.checkpoint)):
            raise InputError(f"{option} {filename}: no such file, expected a checkpoint")
        if not (can_go_on or reset_optimizer):  # fairseq would begin, in the middle of its epochs
            raise InputError(
                f"{filename}: has no state of an optimizer, without which no training goes on (an average, a"
                " packaged or trimmed model, or --no-save-optimizer-state); begin one with"
                f" --finetune-from-model {filename} and another --save-dir"
            )
        # without the optimizer's state a training begins, whatever its weights are from (--reset-optimizer,
        # --finetune-from-model): also with another teacher
        if saved and self.get_num_updates():
            _restore(self.task, saved, filename)
            if not options.get("reset_meters"):  # with which fairseq forgets the best validation, too
                patience.go_on(saved)
        elif saved:
            _check_start(self.task, saved, filename, getattr(self.get_criterion(), "knows_languages", False))
            if self.task.initialized_from == {}:  # its own checkpoint, with --reset-optimizer
                self.task.initialized_from = saved.get(ORIGIN_FIELD)
        return extra

    return load_checkpoint


def _readable(own: trainer.Trainer, filename: str) -> str:
    """The file that a training begins with: another one in place of its own last one, if that is damaged."""
    checkpoint = Path(filename)
    if not checkpoint.is_file() or checkpoint != Path(own.cfg.checkpoint.save_dir, LAST):
        return filename
    reads = own.data_parallel_rank == 0 or own.cfg.checkpoint.load_checkpoint_on_all_dp_ranks
    return str(whole_or_newest(checkpoint)) if reads else filename


def _other_parameters(error: Exception) -> str | None:
    """How parameters of a checkpoint differ from the model's, if that is why they could not be loaded."""
    refusal = error.__context__
    if not (type(error) is Exception and isinstance(refusal, RuntimeError)):
        return None
    heading, *differences = (line.strip() for line in str(refusal).splitlines())
    return textwrap.shorten(" ".join(differences), 160, placeholder=" …") if "state_dict" in heading else None


def _names_a_file(cfg) -> str | None:
    """The option that names the checkpoint to begin with; None for that of `--save-dir`, if there is one."""
    if cfg.restore_file != LAST:
        return "--restore-file"
    return "--continue-once" if getattr(cfg, "continue_once", None) else None


def _check_start(task: BaseTask, saved, path, knows_languages: bool) -> None:
    """Weights that a training begins with: as many rows of embeddings may be of other symbols.

    Args:
        knows_languages: have the losses parameters of the checkpoint's that stand for languages?
    """
    check(saved, SavedTask, path, KEY)
    if saved["dictionary_sha256"] != task.fingerprint:
        raise InputError(
            f"{path}: was trained with another dictionary than dict.*.txt; expected --pretrained-checkpoint"
            " with --pretrained-dictionary, which finds the rows of the same symbols"
        )
    try:
        task.check_start(saved, knows_languages)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _restore(task: BaseTask, saved, path) -> None:
    check(saved, SavedTask, path, KEY)
    try:
        task.load_state_dict(saved)
    except InputError as error:
        raise InputError(f"{path}: the training cannot go on: {error}") from None
