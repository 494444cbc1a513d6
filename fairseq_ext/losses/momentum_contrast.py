"""Momentum contrast, the sentence-level objective of post-pretraining alignment (Pan, Hang et al. 2021)."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from command_line.errors import InputError
from fairseq_ext.losses.weighted_loss import ModelOutputs, Term, WeightedLoss, vectors_of
from fairseq_ext.modules.all_gather import contributed_rows
from fairseq_ext.modules.cached_gradients import slices_of
from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.modules.moving_average import MovingAverage
from fairseq_ext.options import option


@dataclass
class MomentumContrastOptions:
    weight: float = option("of the loss (equation 4: 1)", 1.0)
    temperature: float = option("tau of equation 3 (section 3.3)", 0.05)
    momentum: float = option("m of equation 1 (section 3.3)", 0.999)
    queue: int = option("K, sentences that are wrong answers (section 2.1)", 32000)
    dim: int = option("d_k, width of the vectors of equation 2; 0: the sentence vectors themselves", 300)
    any_length: bool = option(
        "the vectors of equation 3 keep their length, as equation 2 is printed; by default they have length "
        "1, as in MoCo, which retrieves better",
        False,
    )


class MomentumContrast(WeightedLoss):
    """Every sentence finds its translation, which a slower copy of the encoder has encoded, among the
    sentences of batches before.

    Reference: Pan, Hang et al. 2021 ("Multilingual BERT Post-Pretraining Alignment"), 2, after He et al. 2020
    ("Momentum Contrast for Unsupervised Visual Representation Learning"). With h the sentence vector at unit
    length, theta_q the weights of encoder and layers and theta_k those of their slow copy, f_k,

        (1)  theta_k = m theta_k + (1 - m) theta_q;   after every update
        (2)  z = W_2 relu(W_1 h), brought to unit length;   with `dim` 0, z = h
        (3)  L_MoCo = - log exp(z_q z_k+ / tau) / (exp(z_q z_k+ / tau) + sum_k exp(z_q z_k / tau))

    where z_q is that of the source, z_k+ that of its translation by f_k, and k runs over a queue: the last K
    that f_k had encoded before this update, of all processes. (The printed denominator has the queue alone,
    and the printed z any length, as with `any_length`; here both are as in He et al.) In the beginning the
    queue has random vectors h. The paper's sides are random: `--random-sides` of the task.

    f_k and the queue are saved with a training, and a training that begins with its checkpoint begins with
    them. Validation leaves both as they are.

    Batch fields: `mirror`. Logged per pair. A batch's wrong answers do not depend on its size.

    Cost: a pass of the encoder without gradient, a copy of its weights, and B x K products.
    """

    name = "momentum_contrast"
    Options = MomentumContrastOptions
    batch_fields = ("mirror",)
    counts_pairs = True
    looks_at_vectors_only = True
    runs_encoder = True

    def __init__(self, options: MomentumContrastOptions, sizes):
        super().__init__(options, sizes)
        self.require(0 < options.temperature < math.inf, "temperature", "a number above 0")
        self.require(0 <= options.momentum < 1, "momentum", "a number from 0 to below 1")
        self.require(options.queue > 0, "queue", "a number above 0")
        self.require(options.dim >= 0, "dim", "a number above 0, or 0 for no projection")
        width = sizes.sentence_width or sizes.encoder_width
        self.projection = None
        # fairseq saves, and distributed training takes, no criterion without parameters
        self.nothing = None if options.dim else nn.Parameter(torch.zeros(()))
        if options.dim:
            self.projection = nn.Sequential(
                nn.Linear(width, width, bias=False),  # W_1
                nn.ReLU(),
                nn.Linear(width, options.dim, bias=False),  # W_2
            )
        self.slow = MovingAverage(options.momentum)
        with torch.no_grad():
            self.queue = self._project(torch.randn(options.queue, width), self.projection)
        self.place = 0  # of the oldest one
        self.encoded: list[Tensor] = []  # by f_k, since the last update

    def forward(self, outputs, batch) -> Term:
        queries = self._project(vectors_of(outputs.source), self.projection)
        keys = self._encoded_slowly(outputs, batch["mirror"])
        self.queue = self.queue.to(queries.device)
        with torch.autocast(queries.device.type, enabled=False):
            right = (queries * keys).sum(dim=1) / self.options.temperature
            wrong = queries @ self.queue.type_as(queries).t() / self.options.temperature
            value = (torch.logaddexp(right, wrong.logsumexp(dim=1)) - right).sum()
        if self.nothing is not None:
            value = value + 0 * self.nothing
        if torch.is_grad_enabled():  # in training, of whatever process
            self.encoded.append(contributed_rows(keys))
        return Term(self.options.weight * value, value.detach(), len(queries))

    @torch.no_grad()
    def _encoded_slowly(self, outputs: ModelOutputs, sentences: dict) -> Tensor:
        """z of f_k, B x d_k."""
        encoder = outputs.encoder
        weights = self.slow.of("encoder", encoder)
        slices = slices_of(sentences, outputs.pairs_at_once) if outputs.pairs_at_once else [sentences]
        vectors = torch.cat([vectors_of(functional_call(encoder, weights, (), each)) for each in slices])
        if self.projection is None:
            return self._project(vectors, None)
        weights = self.slow.of("projection", self.projection)
        return self._project(vectors, lambda rows: functional_call(self.projection, weights, (rows,)))

    def _project(self, vectors: Tensor, projection) -> Tensor:
        """Equation 2 of any sentence vectors: B x C -> B x d_k."""
        vectors = F.normalize(at_least_float32(vectors), dim=-1)
        if projection is not None:
            vectors = at_least_float32(projection(vectors.to(self.projection[0].weight.dtype)))
        return vectors if self.options.any_length else F.normalize(vectors, dim=-1)

    def after_update(self, model, updates: int) -> None:
        """Only now, so that an update is the same however its batches are spread over processes."""
        for keys in self.encoded:
            self._enqueue(keys)
        self.encoded.clear()
        self.slow.update("encoder", model.encoder)
        if self.projection is not None:
            self.slow.update("projection", self.projection)

    def _enqueue(self, keys: Tensor) -> None:
        """The oldest of the queue make room."""
        newest = keys[-len(self.queue) :]
        places = torch.arange(self.place, self.place + len(newest), device=newest.device)
        self.queue[places % len(self.queue)] = newest.type_as(self.queue)
        self.place = (self.place + len(newest)) % len(self.queue)

    def get_extra_state(self) -> dict:
        return {"weights": self.slow.weights, "queue": self.queue, "place": self.place}

    def set_extra_state(self, state: dict) -> None:
        if state["queue"].shape != self.queue.shape:
            saved, expected = ("{} x {}".format(*queue.shape) for queue in (state["queue"], self.queue))
            raise InputError(
                f"--momentum-contrast-queue: the checkpoint has a queue of {saved}, the options {expected};"
                " expected the --momentum-contrast-queue and -dim of its training"
            )
        self.slow.weights, self.queue = dict(state["weights"]), state["queue"]
        self.place = state["place"]
