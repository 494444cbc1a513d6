"""Criterion `weighted_losses`: any number of weighted losses.

    --criterion weighted_losses --losses translation,word_contrastive,attention_alignment

`translation` is fairseq's `label_smoothed_cross_entropy`, with `--fused-vocabulary-loss` our
`fused_label_smoothed_cross_entropy`, and alone it is that to the last bit. All others are those of the
registry (`fairseq_ext.losses`).
"""

import contextlib
import dataclasses
import logging
import math
from types import MappingProxyType

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics

from command_line.errors import InputError
from fairseq_ext.criterions.options_of_losses import (
    TRANSLATION,
    TRANSLATION_LOG,
    WeightedLossesConfig,
    build_losses,
    build_translation,
    check_cached_gradients,
    check_trained,
    names_of_losses,
    unused_options,
)
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import ModelOutputs, WeightedLoss, has_decoder, vectors_of
from fairseq_ext.modules.cached_gradients import slices_of, vectors_in_slices
from fairseq_ext.modules.dropout import set_dropout

logger = logging.getLogger(__name__)
UNEQUAL = 1_000  # a loss that is so many times another one leaves it without a say
LANGUAGES = {"source_languages", "target_languages"}  # batch fields: numbers of languages


@contextlib.contextmanager
def observed(model, decoder_arguments):
    """What the encoder and the decoder, if there is one, return when the model is called inside; the decoder
    gets further arguments.

    Hooks, so that any model of fairseq's will do, and so that the call itself, which distributed training
    wraps, stays the translation loss's. A model of several calls shows the last.
    """
    seen = {"decoder": None}
    hooks = [model.encoder.register_forward_hook(lambda module, inputs, output: seen.update(source=output))]
    if has_decoder(model):
        hooks += [
            model.decoder.register_forward_hook(
                lambda module, inputs, output: seen.update(decoder=output[1])
            ),
            model.decoder.register_forward_pre_hook(
                lambda module, inputs, named: (inputs, {**named, **decoder_arguments}), with_kwargs=True
            ),
        ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


@register_criterion("weighted_losses", dataclass=WeightedLossesConfig)
class WeightedLosses(FairseqCriterion):
    """Sum of the weighted losses; gradients are divided by `sample_size` tokens (sentences with
    `--sentence-avg`), as fairseq's translation loss has it; without that loss, if all others are sums over
    sentence pairs, by the number of pairs (thesis, equation 2.12).

    The mirror is encoded by itself, after the translation loss: on a CPU that is faster than one batch of
    both, whose sentences must be padded to the longest of either side; and it leaves the translation loss,
    dropout included, as it is alone.

    `loss` is logged as the sum of all, `nmt_loss` as the translation loss alone, and every other loss
    under its name, unweighted, per unit of its own; in bits, but for those that measure no information
    (`WeightedLoss.is_information`), in training and in validation. Losses per
    token (`reduce=False`) are those of the translation loss, unweighted.

    The losses' parameters are the criterion's: fairseq trains them, saves them beside the model under
    "criterion", and restores them when training is resumed. Inference never sees them.

    Args:
        translation: the translation loss, or None.
        translation_weight: of the translation loss.
        sentence_avg: is a gradient divided by the number of sentences?
        cached_gradients: sentence pairs whose activations exist at a time; 0: the whole batch.
    """

    def __init__(
        self,
        task,
        translation: FairseqCriterion | None,
        losses: dict[str, WeightedLoss],
        translation_weight: float = 1.0,
        sentence_avg: bool = False,
        cached_gradients: int = 0,
    ):
        super().__init__(task)
        self.translation = translation
        self.translation_weight = translation_weight
        only_pairs = translation is None and all(loss.counts_pairs for loss in losses.values())
        self.sentence_avg = sentence_avg or only_pairs
        self.cached_gradients = cached_gradients
        self.losses = torch.nn.ModuleDict(losses)
        self.batch_fields = tuple(
            dict.fromkeys(name for loss in losses.values() for name in loss.batch_fields)
        )
        self.looks_at_mirror = any(
            "mirror" in loss.batch_fields and not loss.runs_encoder for loss in losses.values()
        )
        arguments: dict = {}
        for name, loss in losses.items():
            if loss.decodes_again:
                continue
            for key, value in loss.decoder_arguments.items():
                if arguments.setdefault(key, value) != value:
                    raise InputError(f"--losses: {name} cannot be combined with another one: {key}")
        self.decoder_arguments = MappingProxyType(arguments)
        dropouts = [loss.model_dropout for loss in losses.values() if loss.model_dropout is not None]
        self.model_dropout = dropouts[0] if dropouts else None
        self.restored: set[str] = set()  # losses that have parameters of a checkpoint
        self.are_compared = False  # the sizes of the losses, in the first batch of training
        self.unused_options: list[str] = []  # that losses which are not trained were given
        self.validated: ModelOutputs | None = None  # of the last batch of validation, if nothing was hidden

    @classmethod
    def build_criterion(cls, cfg, task):
        names = names_of_losses(cfg)
        translation = build_translation(cfg, task) if TRANSLATION in names else None
        others = [name for name in names if name != TRANSLATION]
        losses = build_losses(cfg, others, getattr(task, "model_sizes", None))
        check_trained(names, losses, getattr(task, "model_sizes", None))
        check_cached_gradients(cfg.cached_gradients, losses, translates=translation is not None)
        weights = cfg.translation_weight, cfg.sentence_avg, cfg.cached_gradients
        criterion = cls(task, translation, losses, *weights)
        criterion.unused_options = unused_options(cfg, names)
        return criterion

    @property
    def names(self) -> tuple[str, ...]:
        """What is learned."""
        return (*([TRANSLATION] if self.translation else []), *self.losses)

    @property
    def is_translation_loss(self) -> bool:
        """Is it fairseq's, which logs no more than that?"""
        return self.names == (TRANSLATION,) and self.translation_weight == 1

    @property
    def report_accuracy(self) -> bool:
        """As fairseq's criteria have it: is the accuracy of translation logged?"""
        return self.translation is not None and self.translation.report_accuracy

    @property
    def knows_languages(self) -> bool:
        """Have losses parameters of a checkpoint that stand for languages, by their numbers?"""
        return any(LANGUAGES & set(self.losses[name].batch_fields) for name in self.restored)

    def forward(self, model, sample, reduce=True):
        if not reduce and self.translation is None:
            raise InputError(f"--losses {','.join(self.losses)}: losses per token are those of {TRANSLATION}")
        self.validated = None
        if not reduce or self.is_translation_loss:
            return self.translation(model, sample, reduce)
        if self.model_dropout is not None:
            set_dropout(model, self.model_dropout)
        batch = seen_by_model = sample
        for weighted in self.losses.values():
            seen_by_model = weighted.model_batch(seen_by_model)
        sample = {**seen_by_model, **sample}
        compute = self._compute_in_slices if self.cached_gradients else self._compute
        outputs, loss, sample_size, log = compute(model, seen_by_model)
        if not self.training and seen_by_model is batch:
            self.validated = outputs
        outputs.token_embeddings, outputs.encoder = model.encoder.embed_tokens.weight, model.encoder
        outputs.pairs_at_once = self.cached_gradients
        terms = {TRANSLATION: loss} if self.translation else {}
        for name, weighted in self.losses.items():
            term = weighted(self._seen_by(weighted, model, sample, outputs), sample)
            loss, terms[name] = loss + term.loss, term.loss
            log[f"{name}:sum"], log[f"{name}:count"] = term.value, term.count
        log["loss"] = loss.data
        if self.training and not self.are_compared:
            self._compare(terms)
        return loss, sample_size, log

    def _compare(self, terms: dict[str, torch.Tensor]) -> None:
        """Warn once if a weighted loss is so much larger than another one that this is not learned."""
        self.are_compared = True
        sizes = {name: abs(float(term.detach())) for name, term in terms.items()}
        sizes = {name: size for name, size in sizes.items() if size}  # nothing to learn from in this batch
        if not sizes:
            return
        largest, smallest = max(sizes, key=sizes.get), min(sizes, key=sizes.get)
        if sizes[largest] > UNEQUAL * sizes[smallest]:
            logger.warning(
                f"--losses: with its weight, {largest} is {sizes[largest] / sizes[smallest]:,.0f} times"
                f" {smallest}, which so will hardly be learned; choose other weights"
            )

    def _compute(self, model, sample):
        """What the model computes for a batch, and what `_call_model` returns."""
        with observed(model, self.decoder_arguments) as seen:
            called = self._call_model(model, sample)
        mirror = self._encode_mirror(model, sample, seen["source"])
        return ModelOutputs(seen["source"], mirror, seen["decoder"]), *called

    def _compute_in_slices(self, model, sample):
        """As `_compute`, for losses that look at vectors only: their gradients are cached.

        The first slice is the model's, as a whole, whose activations stay: distributed training waits for
        that, and for one call only.
        """
        first, *others = slices_of(sample["net_input"], self.cached_gradients)
        with observed(model, {}) as seen:
            called = self._call_model(model, {**sample, "net_input": first})
        if "mirror_arguments" in seen["source"]:
            raise InputError("--cached-gradients: not with --arch interlingua_transformer")

        def encode(src_tokens, src_lengths, prev_output_tokens=None, **stored):
            return vectors_of(model.encoder(src_tokens, src_lengths, **stored))

        def vectors(computed, slices):
            return {"sentence_vectors": torch.cat([*computed, *vectors_in_slices(encode, slices)])}

        source = vectors([vectors_of(seen["source"])], others)
        mirror = None
        if self.looks_at_mirror:
            mirror = vectors([], slices_of(sample["mirror"], self.cached_gradients))
        return ModelOutputs(source, mirror), *called

    def _call_model(self, model, sample):
        """The weighted translation loss (0 without it), what its gradient is divided by, and its logs.

        Without translation loss the model is called all the same, as a whole: distributed training waits for
        that, and a loss may look at the decoder, if there is one.
        """
        if self.translation is not None:
            loss, sample_size, log = self.translation(model, sample)
            return self.translation_weight * loss, sample_size, {**log, TRANSLATION_LOG: log["loss"]}
        inputs = sample["net_input"]
        if not has_decoder(model):
            inputs = {name: value for name, value in inputs.items() if name != "prev_output_tokens"}
        model(**inputs)
        counts = {name: sample[name] for name in ("ntokens", "nsentences")}
        sample_size = counts["nsentences" if self.sentence_avg else "ntokens"]
        return 0, sample_size, {**counts, "sample_size": sample_size}

    def _encode_mirror(self, model, sample, source):
        if not self.looks_at_mirror:
            return None
        shared = source.get("mirror_arguments", {})  # what an encoder wants both sentences of a pair to have
        return model.encoder(**sample["mirror"], **shared)

    def _seen_by(self, loss: WeightedLoss, model, sample, outputs: ModelOutputs) -> ModelOutputs:
        """What a loss looks at: the pass of the decoder that all share, or one of its own."""
        if not loss.decodes_again:
            return outputs
        decoder_input = sample["net_input"]["prev_output_tokens"]
        _, seen = model.decoder(
            decoder_input, encoder_out=outputs.source, features_only=True, **loss.decoder_arguments
        )
        return dataclasses.replace(outputs, decoder=seen)

    def after_update(self, model, updates: int) -> None:
        """The model has learned from `updates` batches (of all processes and accumulated ones): the hook of
        every loss.
        """
        for loss in self.losses.values():
            loss.after_update(model, updates)

    def load_state_dict(self, state_dict, strict=True):
        """Also accepts a checkpoint that was trained without some of the losses, which begin untrained, or
        with others, whose parameters are left out.
        """
        own = self.state_dict()
        trained = {key.split(".")[1] for key in state_dict or {} if key.startswith("losses.")}
        if gone := sorted(trained - set(self.losses)):
            logger.warning(f"the checkpoint has parameters of {', '.join(gone)}, which are not trained here")
        state_dict = {
            key: value
            for key, value in (state_dict or {}).items()
            if not key.startswith("losses.") or key.split(".")[1] in self.losses
        }
        new = [
            name
            for name in self.losses
            if not any(key.startswith(f"losses.{name}.") for key in state_dict)
            and any(key.startswith(f"losses.{name}.") for key in own)
        ]
        if new:
            logger.warning(f"the checkpoint lacks the parameters of {', '.join(new)}: they begin untrained")
        self.restored = trained & set(self.losses)
        missing = {key: value for key, value in own.items() if key.split(".")[1] in new}
        return super().load_state_dict({**missing, **state_dict}, strict=strict)

    @classmethod
    def reduce_metrics(cls, logging_outputs) -> None:
        def total(key):
            return sum(log.get(key, 0) for log in logging_outputs)

        def log_in_bits(name: str, value, count) -> None:
            metrics.log_scalar(name, value / count / math.log(2), count, round=3)

        tokens = total("sample_size")
        if "nll_loss" in logging_outputs[0]:
            LabelSmoothedCrossEntropyCriterion.reduce_metrics(logging_outputs)
        else:
            log_in_bits("loss", total("loss"), tokens)
        if TRANSLATION_LOG in logging_outputs[0]:
            log_in_bits(TRANSLATION_LOG, total(TRANSLATION_LOG), tokens)
        for name, loss in LOSSES.items():
            if not (count := total(f"{name}:count")):
                continue
            if loss.is_information:
                log_in_bits(name, total(f"{name}:sum"), count)
            else:
                metrics.log_scalar(name, total(f"{name}:sum") / count, count, round=loss.logged_digits)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True
