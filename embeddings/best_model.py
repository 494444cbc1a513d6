"""The best checkpoint of a training by `transformers.Trainer`, by what is measured now and then."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from transformers import TrainerCallback

from command_line.outputs import scratch_folder, write_json
from command_line.records import read_json

CHECKPOINTS = "checkpoints.json"


def shares(updates: int, parts: int) -> list[int]:
    """The updates after every of so many equal parts of a training; fewer of one that has fewer updates."""
    return sorted({-(-updates * part // parts) for part in range(1, parts + 1)})


def best_of(checkpoints: list[dict], score: str) -> dict:
    """The checkpoint of the highest score, the first of equal ones; the model before training is none."""
    return max((each for each in checkpoints if each["update"]), key=lambda each: each[score])


class BestModel(TrainerCallback):
    """Has the trainer save at some updates, measures, and keeps the model that is best.

    In the trainer's folder are then what was measured of every checkpoint (`checkpoints.json`) and the best
    one so far, `best-UPDATE`; both survive a kill.

    Args:
        model: is in evaluation mode while it is measured.
        updates: at which checkpoints are made; the last one is the training's.
        save: the model into a folder that is not there yet.
        shown: what a line on stderr says of a checkpoint.
        before: measure also before the first update.
        keep_all: keep the models of all updates besides, each as `kept-UPDATE`.

    Attributes:
        checkpoints: of every one so far: update, share of the training, and what was measured.
    """

    def __init__(
        self,
        state: Path,
        model,
        updates: Iterable[int],
        score: str,
        measure: Callable[[], dict],
        save: Callable[[Path], None],
        shown: Callable[[dict], str],
        before: bool = True,
        keep_all: bool = False,
    ):
        self.state, self.model, self.score, self.before = state, model, score, before
        self.keep_all = keep_all
        self.measure, self.save, self.shown = measure, save, shown
        self.updates = set(updates)
        path = state / CHECKPOINTS
        self.checkpoints = read_json(path) if path.is_file() else []

    @property
    def best(self) -> dict:
        return best_of(self.checkpoints, self.score)

    def on_train_begin(self, settings, state, control, **kwargs):
        if state.global_step or self.before:
            self.keep(state.global_step)  # 0; or was the training killed between saving and this?

    def on_step_end(self, settings, state, control, **kwargs):
        control.should_save = state.global_step in self.updates

    def on_save(self, settings, state, control, **kwargs):
        self.keep(state.global_step)

    def keep(self, update: int) -> None:
        """Measure the model as it is now, and keep it if it is the best of those that were trained."""
        if any(each["update"] == update for each in self.checkpoints):
            return
        was_training = self.model.training
        self.model.eval()
        now = {"update": update, "share": update / max(self.updates), **self.measure()}
        self.model.train(was_training)
        self.checkpoints.append(now)
        if update and self.best is now:
            self._save(self.folder_of(update))
        if update and self.keep_all:
            self._save(self._kept(update))
        write_json(self.state / CHECKPOINTS, self.checkpoints)
        self._remove_others()
        print(self.shown(now), file=sys.stderr)

    def folder_of(self, update: int) -> Path:
        return self.state / f"best-{update}"

    def _kept(self, update: int) -> Path:
        return self.state / f"kept-{update}"

    def _save(self, folder: Path) -> None:
        if folder.exists():  # killed before it was recorded
            shutil.rmtree(folder)
        with scratch_folder(self.state) as scratch:
            self.save(scratch / folder.name)
            os.replace(scratch / folder.name, folder)

    def _remove_others(self) -> None:
        for path in self.state.glob("best-*"):
            if path != self.folder_of(self.best["update"]):
                shutil.rmtree(path)

    def move(self, folder: Path) -> None:
        """The best model to where it is used, and kept ones beside it, `FOLDER-UPDATE`; what is there already
        after a kill behind this is left.
        """
        moves = {self.folder_of(self.best["update"]): folder}
        for each in self.checkpoints if self.keep_all else ():
            moves[self._kept(each["update"])] = folder.with_name(f"{folder.name}-{each['update']}")
        for model, place in moves.items():
            if model.exists():
                os.replace(model, place)
