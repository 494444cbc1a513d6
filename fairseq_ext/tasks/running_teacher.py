"""A teacher inside the training, where there is no room on the disk for its vectors: a sentence encoder over
the dictionary of the data. It computes what `python -m embeddings encode --data` would have stored.
"""

from pathlib import Path

import torch
from torch import Tensor

from command_line.errors import InputError
from command_line.outputs import checksum
from fairseq_ext.axes.record import describe
from fairseq_ext.checkpoints.finite import check_weights
from fairseq_ext.checkpoints.origin import teacher_of
from fairseq_ext.checkpoints.reading import as_one_line, read_checkpoint
from fairseq_ext.data.sentence_pairs import CutSentences, uncut
from fairseq_ext.data.teachers import Teacher, TokensForTeacher
from fairseq_ext.losses.weighted_loss import vectors_of

OPTION = "--teacher-checkpoint"


class RunningTeacher(Teacher):
    """Encodes every batch, without gradient and in the precision of its weights.

    Args:
        model: a sentence encoder.
        longest: tokens that it reads of a sentence, `</s>` included.
        eos, pad: token ids.
        encoder: record.
    """

    def __init__(self, model, longest: int, eos: int, pad: int, encoder: dict):
        self.model = model.requires_grad_(False).eval()
        self.longest, self.eos, self.pad, self.encoder = longest, eos, pad, encoder

    @classmethod
    def load(cls, path: str, make_task) -> "RunningTeacher":
        """The teacher in a checkpoint.

        Args:
            make_task: a task of the student's data with an option, `max_source_positions`.

        Raises:
            InputError: no checkpoint of `sentence_embedding`, or of another dictionary than the data's.
        """
        if not Path(path).is_file():
            raise InputError(f"{OPTION} {path}: no such file; expected a checkpoint")
        state = read_checkpoint(path)
        with as_one_line(path):
            saved = state["cfg"]["task"]
            if saved.get("_name") != "sentence_embedding":
                raise InputError(
                    f"{OPTION} {path}: is of the task {saved.get('_name')!r}, expected sentence_embedding;"
                    " store the vectors of other teachers with `python -m embeddings encode --data`"
                )
            task = make_task(saved["max_source_positions"])
            task.load_state_dict(state["task_state"])
            model = task.build_model(state["cfg"]["model"], from_checkpoint=True)
            model.load_state_dict(state["model"], strict=True)
        check_weights(model, path)
        own = teacher_of(state, path)
        system = describe(state["cfg"], task.tags.placement_name, task.initialized_from, teacher=own)
        return cls(
            model,
            task.max_positions()[0],
            task.dictionary.eos(),
            task.dictionary.pad(),
            {
                "name": system["name"],
                "kind": "checkpoint",
                "width": model.encoder.sentence_width,
                "weights": {Path(path).name: checksum(path)},
                "pooling": "own",  # as `embeddings encode` says of a model that pools by itself
            },
        )

    def field(self, folder, split, direction, sides):
        return TokensForTeacher([CutSentences(uncut(side), self.longest, self.eos) for side in sides])

    def complete(self, batch: dict) -> dict:
        tokens = batch["teacher"]
        return {**batch, "teacher": {side: self._vectors(of) for side, of in tokens.items()}}

    @torch.no_grad()
    def _vectors(self, tokens: Tensor) -> Tensor:
        """B x T -> B x Ct; of a sentence without words zeros, as they are stored."""
        self.model.to(tokens.device)
        lengths = tokens.ne(self.pad).sum(dim=1)
        vectors = vectors_of(self.model.encoder(tokens, lengths))
        return vectors.float() * lengths.gt(1).unsqueeze(1)
