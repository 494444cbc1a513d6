"""A language classifier that the encoder hides from, with gradient reversal (Ganin et al. 2016)."""

import math
from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from fairseq.dataclass import ChoiceEnum
from torch import Tensor, nn

from command_line.errors import InputError
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss, padding_of, states_of
from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.modules.gradient_reversal import reverse_gradient, rising_strength
from fairseq_ext.modules.pooling import sentence_means
from fairseq_ext.options import option

POOLED, TOKENS = "pooled", "tokens"
SIDES = {"source": ("source",), "target": ("target",), "both": ("source", "target")}


@dataclass
class AdversarialLanguageOptions:
    weight: float = option("of the loss, for classifier and encoder", 1.0)
    reversal: float = option("lambda: what the encoder's gradient is multiplied by, reversed", 1.0)
    warmup_updates: int = option(
        "updates in which lambda rises from 0 as 2 / (1 + exp(-10 p)) - 1 (Ganin et al. 2016); "
        "0: there from the beginning",
        0,
    )
    layer: Optional[int] = option(
        "encoder layer whose states are classified, before a final norm; 0: embeddings "
        "(default: the encoder's output)"
    )
    states: ChoiceEnum([POOLED, TOKENS]) = option(
        f"{POOLED}: the mean of a sentence's states is classified; {TOKENS}: every state", POOLED
    )
    predicts: ChoiceEnum(list(SIDES)) = option("which language of a pair the encoder is to hide", "source")
    hidden: int = option("units of the classifier's hidden layer with ReLU; 0: none", 512)


class AdversarialLanguage(WeightedLoss):
    """A classifier learns which language the encoder's states are of, and the encoder to give it no sign.

    Reference: Ganin et al. 2016 ("Domain-Adversarial Training of Neural Networks"), with languages as
    domains; for translation, Arivazhagan et al. 2019 ("The Missing Ingredient in Zero-Shot
    Neural Machine Translation"). With the classifier's log-probability of the right language l,

        L = - sum_i log p(l_i | R(h_i))

    where R is the identity and its gradient -lambda: the classifier lowers L, all below it raises L. h_i is
    the mean of a sentence's states without padding, or with `states tokens` each of them (tags, which say the
    language, among them). A sentence's loss is multiplied by the average number of target tokens of the
    batch, as in `sentence_contrastive`, and that of a source token counts as it is. With `predicts both`
    there are two classifiers, whose losses are added.

    Batch fields: `source_languages`, `target_languages`. Its parameters are the classifiers. Logged in bits
    per sentence or token; log2 of the number of languages, if all are as frequent, where nothing is left to
    see. Two accumulated half batches of as many tokens per sentence are the whole batch.

    Cost: one or two small matrices.
    """

    name = "adversarial_language"
    Options = AdversarialLanguageOptions
    batch_fields = ("source_languages", "target_languages")

    def __init__(self, options: AdversarialLanguageOptions, sizes):
        super().__init__(options, sizes)
        self.require(0 <= options.reversal < math.inf, "reversal", "a number, 0 or above")
        self.require(options.warmup_updates >= 0, "warmup_updates", "a number, 0 or above")
        self.require(options.hidden >= 0, "hidden", "a number, 0 or above")
        self.require(options.layer is None or options.layer >= 0, "layer", "a number, 0 or above")
        if sizes.languages < 2:
            raise InputError(
                f"--losses {self.name}: {sizes.languages} languages, expected 2 or more to tell apart"
            )
        self.sides = SIDES[str(options.predicts)]
        self.classifiers = nn.ModuleDict({side: self._classifier() for side in self.sides})
        self.register_buffer("updates", torch.zeros((), dtype=torch.long))  # a resumed training has them

    def _classifier(self) -> nn.Module:
        width, hidden, languages = self.sizes.encoder_width, self.options.hidden, self.sizes.languages
        if not hidden:
            return nn.Linear(width, languages)
        return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, languages))

    def forward(self, outputs, batch) -> Term:
        states, padding = self._states(outputs.source)
        strength = self.options.reversal * rising_strength(self.updates, self.options.warmup_updates)
        if str(self.options.states) == POOLED:
            classified, owner = (
                sentence_means(states, padding),
                torch.arange(len(padding), device=padding.device),
            )
            scale = batch["ntokens"] / len(padding)
        else:
            owner = (~padding).nonzero()[:, 0]
            classified, scale = states.transpose(0, 1)[~padding], 1.0
        classified = reverse_gradient(classified, strength)
        value = sum(
            self._loss(self.classifiers[side], classified, batch[f"{side}_languages"][owner])
            for side in self.sides
        )
        return Term(self.options.weight * scale * value, value.detach(), len(classified))

    def _loss(self, classifier: nn.Module, classified: Tensor, languages: Tensor) -> Tensor:
        parameter = next(classifier.parameters())
        logits = classifier(classified.to(parameter.dtype))
        return F.cross_entropy(at_least_float32(logits), languages, reduction="sum")

    def _states(self, encoded) -> tuple[Tensor, Tensor]:
        """T x B x C of the layer, and their padding, B x T."""
        padding, layer = padding_of(encoded), self.options.layer
        if layer is None:
            return states_of(encoded), padding
        layers = encoded.get("encoder_states") or []
        self.require(
            layer < len(layers),
            "layer",
            f"a layer from 0 to {len(layers) - 1}"
            if layers
            else "no layer: the model gives the states of its top only",
        )
        return layers[layer][-padding.size(1) :], padding  # without what stands in front of the sentence

    def after_update(self, model, updates: int) -> None:
        self.updates.fill_(updates)
