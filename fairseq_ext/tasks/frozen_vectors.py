"""A frozen encoder that no update runs: what it gives is stored beside the sentences, and a linear map above
it is all that is trained (thesis 3.2.2, fewer dimensions).
"""

import torch

from command_line.errors import InputError
from data_prep.formats.teacher_vectors import STEP, encoder_title
from fairseq_ext.data.dataset_parts import in_place_of_tokens
from fairseq_ext.data.teachers import StoredTeacher

OPTION = "--encoder-vectors"
FIELD = "encoder_vectors"  # of a batch
MAP = "encoder.sentence_map."
COMPARED = 4  # sentences of a side
LARGEST_DISTANCE = 0.05  # of a stored vector from the encoder's own, of its length: half precision is nearer


class FrozenVectors:
    """The vectors below the linear map, from files of `python -m embeddings encode --data --name NAME`.

    Args:
        name: of the vectors.
        longest: tokens to which sentences are cut (`--max-source-positions`).
    """

    def __init__(self, data, name: str, longest: int):
        self.stored, self.name, self.longest = StoredTeacher(data, name, OPTION), name, longest
        self._ours = "the encoder in training"
        self._is_checked = False

    def freeze(self, model, is_frozen: bool, start: dict | None) -> None:
        """Leave nothing of a model to be trained but the linear map.

        Args:
            is_frozen: does the model say so of its layers (`--freeze-encoder`)?
            start: what the model was started from (`fairseq_ext.checkpoints.origin`).

        Raises:
            InputError: it does not, there is no map, or what is below it has another width.
        """
        encoder = model.encoder
        if start:
            self._ours += f", from {start['file']} ({start.get('sha256', '')[:8]}),"
        if not is_frozen or encoder.sentence_map is None:
            raise InputError(
                f"{OPTION} {self.name}: stands for layers that are not trained, below a linear map that is;"
                " give --freeze-encoder and --sentence-width"
            )
        if encoder.pooled_width != self.stored.width:
            raise InputError(
                f"{OPTION} {self.name}: vectors of {encoder_title(self.stored.encoder)} and width"
                f" {self.stored.width}, but {self._ours} has those of {encoder.pooled_width} numbers; store"
                f" these (`{STEP}`)"
            )
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name.startswith(MAP))

    def complete(self, batch: dict) -> dict:
        """A batch whose sentences have their vectors, so that the encoder does not read their tokens."""
        return in_place_of_tokens(batch, FIELD, "pooled_vectors")

    @torch.no_grad()
    def check(self, model, batch: dict) -> None:
        """Compare some stored vectors with what the encoder makes of the sentences, once in a training.

        Raises:
            InputError: they are of another encoder, which is named.
        """
        if self._is_checked:
            return
        model.eval()  # whoever trains puts it back
        for side, inputs in (("source", batch["net_input"]), ("target", batch["mirror"])):
            lengths = inputs["src_lengths"]
            longest = min(self.longest, model.encoder.max_positions())
            whole = (lengths > 1) & (lengths < longest)  # neither empty nor perhaps cut
            rows = whole.nonzero()[:COMPARED, 0]
            if not len(rows):
                continue
            own = model.encoder(inputs["src_tokens"][rows], lengths[rows])["pooled_vectors"].float()
            distance = (own - batch[FIELD][side][rows].float()).norm(dim=1) / own.norm(dim=1)
            if not float(distance.max()) <= LARGEST_DISTANCE:
                raise InputError(
                    f"{OPTION} {self.name}: vectors of {encoder_title(self.stored.encoder)}, but"
                    f" {self._ours} gives others of the same sentences; start from that one"
                    " (--finetune-from-model, --pretrained-encoder), or store the vectors of this one"
                    f" (`{STEP}`, without --normalize)"
                )
            self._is_checked = True
