"""Task `sentence_embedding`: one sentence encoder for any set of languages, trained on pairs of sentences
that mean the same (thesis chapter 2).
"""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import torch
from fairseq import utils
from fairseq.tasks import register_task

from command_line.errors import InputError
from data_prep.formats.dictionary import (
    languages_with_dictionary,
    load_shared_dictionary,
    with_dictionary,
)
from data_prep.formats.directions import format_direction
from fairseq_ext.checkpoints import origin
from fairseq_ext.criterions.options_of_losses import TRANSLATION
from fairseq_ext.data import layer_sums
from fairseq_ext.data.teachers import StoredTeacher, Teacher
from fairseq_ext.losses.comparison import specials_among
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import has_decoder, read_by, vectors_of
from fairseq_ext.tasks import validation
from fairseq_ext.tasks.frozen_vectors import FrozenVectors
from fairseq_ext.tasks.retrieval_validation import RetrievalValidation
from fairseq_ext.tasks.running_teacher import RunningTeacher
from fairseq_ext.tasks.sentence_embedding_options import (
    SentenceEmbeddingConfig,
    check_losses,
    check_options,
    parse_pairs,
)
from fairseq_ext.tasks.sentence_pair_task import SentencePairTask
from fairseq_ext.tasks.shared_options import languages_with_tag


@register_task("sentence_embedding", dataclass=SentenceEmbeddingConfig)
class SentenceEmbeddingTask(SentencePairTask):
    """Trains on `--pairs`. No sentence that the encoder reads has a language tag, so that inference needs no
    language; losses know the languages of a pair from the batch, and a decoder from the tag in front of its
    sentence.

    Args:
        dictionary: the joint dictionary; tags are appended to it.
    """

    cfg: SentenceEmbeddingConfig

    def __init__(self, cfg: SentenceEmbeddingConfig, dictionary):
        super().__init__(cfg, dictionary)
        self.pairs = parse_pairs(cfg.pairs)
        self.decodes = False
        self.longest = cfg.max_source_positions
        comparison = (str(cfg.eval_retrieval_similarity), cfg.eval_retrieval_normalization)
        self.retrieval = RetrievalValidation(
            [format_direction(pair) for pair in self.pairs], *(comparison if cfg.eval_retrieval else ())
        )
        self.teacher = self._find_teacher()
        self.frozen_vectors = None
        if cfg.encoder_vectors:
            folder = utils.split_paths(cfg.data)[0]
            self.frozen_vectors = FrozenVectors(folder, cfg.encoder_vectors, cfg.max_source_positions)
        if self.pairs:
            self.add_tags(languages_with_tag(cfg, chain.from_iterable(self.pairs), "--pairs"), "none")

    @classmethod
    def setup_task(cls, cfg: SentenceEmbeddingConfig, **kwargs):
        folder = utils.split_paths(cfg.data)[0]
        if not Path(folder).is_dir():
            raise InputError(
                f"{folder}: no such folder; expected the output of `python -m data_prep binarize`"
            )
        check_options(cfg)
        pairs = parse_pairs(cfg.pairs)
        if not pairs:
            raise InputError("--pairs: names none; expected pairs of languages, for example de-en,fr-en")
        languages = languages_with_tag(cfg, chain.from_iterable(pairs), "--pairs")
        return cls(cfg, load_shared_dictionary(folder, with_dictionary(folder, languages)))

    def _find_teacher(self) -> Teacher | None:
        cfg = self.cfg
        folder = cfg.data and utils.split_paths(cfg.data)[0]
        if not cfg.teacher_checkpoint:
            return StoredTeacher(folder, cfg.teacher) if cfg.teacher else None

        def make_task(longest: int) -> SentenceEmbeddingTask:
            own = SentenceEmbeddingConfig(data=cfg.data, max_source_positions=longest)
            return type(self)(own, load_shared_dictionary(folder, languages_with_dictionary(folder)))

        return RunningTeacher.load(Path(cfg.teacher_checkpoint), cfg.teacher_pooling, make_task)

    # --- what travels in the checkpoint

    def state_dict(self) -> dict:
        return {
            **super().state_dict(),
            **({} if self.teacher is None else {"teacher": self.teacher.state()}),
            "language_tags": self.tags.placement_name,
            "lang_pairs": [format_direction(pair) for pair in self.pairs],
        }

    def load_state_dict(self, state: dict) -> None:
        """Adopt the languages of a checkpoint, or check those of the command line.

        Raises:
            InputError: the folder's dictionary or `--langs` is not the checkpoint's.
        """
        if not state:
            return
        self.check_dictionary(state)
        if self.teacher is not None:
            self.teacher.check_state(state.get("teacher"))
        self.improvements.load_state_dict(state)
        self.initialized_from = state.get(origin.FIELD)
        if self.tags is None:
            self.pairs = parse_pairs(",".join(state["lang_pairs"]))
            self.add_tags(state["languages"], state["language_tags"])
        elif self.tags.languages != state["languages"]:
            languages = ",".join(state["languages"])
            raise InputError(f"--langs: the checkpoint has {languages}; give --langs {languages}")

    # --- model and criterion

    def max_positions(self) -> tuple[int, int]:
        """No pair is too long: sentences of both sides are cut, before a decoder's have their tag."""
        return (self.longest, self.longest + self.decodes)

    def build_model(self, cfg, from_checkpoint=False):
        model = super().build_model(cfg, from_checkpoint)
        self.decodes = has_decoder(model)
        self.longest = min(self.cfg.max_source_positions, _tokens_read_by(model))
        if self.cfg.layer_sums:
            layer_sums.check_encoder(model.encoder)
        if self.teacher is not None:
            self.model_sizes = replace(self.model_sizes, teacher_width=self.teacher.width)
        if self.frozen_vectors is not None:
            self.frozen_vectors.freeze(model, cfg.freeze_encoder, self.initialized_from)
        if not from_checkpoint and not any(each.requires_grad for each in model.parameters()):
            raise InputError(
                "--freeze-encoder: nothing of the encoder is trained; add --pooling-layer mix,"
                " --sentence-width or both"
            )
        self.add_tags(self.tags.languages, "t-dec" if self.decodes else "none")
        return model

    def build_criterion(self, cfg, from_checkpoint=False):
        criterion = super().build_criterion(cfg, from_checkpoint)
        losses = getattr(criterion, "names", None)
        if losses is None:
            raise InputError("--criterion: --task sentence_embedding needs --criterion weighted_losses")
        decoding = [name for name in losses if name == TRANSLATION or LOSSES[name].needs_decoder]
        if self.decodes and not decoding:
            raise InputError(
                f"--decoder-layers: none of --losses {','.join(losses)} trains a decoder; leave the option "
                f"out, or add {TRANSLATION}"
            )
        check_losses(self.cfg, criterion)
        return criterion

    def build_generator(self, *args, **kwargs):
        raise InputError(
            "--task sentence_embedding: its models make vectors and do not translate; for vectors see "
            "docs/sentence_encoders.md"
        )

    # --- steps

    def begin_epoch(self, epoch, model):
        """fairseq's hook, when the weights that a training begins with are there."""
        super().begin_epoch(epoch, model)
        if self.cfg.layer_sums:
            parts = self.datasets[self.cfg.train_subset].parts
            sides = [side for part in parts for side in (part.sources, part.targets)]
            layer_sums.check_sums(model.encoder, sides)

    def train_step(self, sample, model, *args, **kwargs):
        if self.frozen_vectors is not None:
            self.frozen_vectors.check(model, sample)
        return super().train_step(self._with_vectors(sample), model, *args, **kwargs)

    def _with_vectors(self, sample: dict) -> dict:
        """A batch with what other encoders, or the same one before, have made of its sentences."""
        if "teacher" in self.batch_fields:
            sample = self.teacher.complete(sample)
        if layer_sums.FIELD in sample:
            sample = layer_sums.complete(sample)
        return sample if self.frozen_vectors is None else self.frozen_vectors.complete(sample)

    def begin_valid_epoch(self, epoch, model):
        super().begin_valid_epoch(epoch, model)
        self.retrieval.begin()

    def valid_step(self, sample, model, criterion):
        sample = self._with_vectors(sample)
        measured = validation.without_forced_tags(sample, self.dictionary.pad())
        loss, sample_size, logging_output = super().valid_step(measured, model, criterion)
        inputs = {name: of for name, of in sample["net_input"].items() if name != "prev_output_tokens"}
        sides = inputs, sample["mirror"]
        with torch.no_grad(), self.computing(sample):
            encoded = self._encoded(model, criterion, sides)
        number = int(sample["parts"][0])
        self.retrieval.add(sample["split"], number, sample["lines"], *map(vectors_of, encoded))
        if self.retrieval.needs_tokens:
            read = [read_by(each, side["src_tokens"]) for each, side in zip(encoded, sides, strict=True)]
            tokens = [(each.states, each.padding, self._left_out(each.tokens)) for each in read]
            self.retrieval.add_tokens(number, sample["lines"], *tokens)
        logging_output = validation.add_direction_losses(
            logging_output, self.pairs, self.pairs[number], supervised=True
        )
        return loss, sample_size, logging_output

    @staticmethod
    def _encoded(model, criterion, sides) -> list:
        """The encoder's outputs for both sides of a batch, which the criterion has just seen. What it did
        not compute, or computed of sentences in which a loss hid something, is computed here.
        """
        seen = criterion.validated
        known = (seen.source, seen.mirror) if seen and not criterion.cached_gradients else (None, None)
        return [
            model.encoder(**side) if output is None else output
            for output, side in zip(known, sides, strict=True)
        ]

    def _left_out(self, tokens):
        """Which tokens have no share in validation's BERT-score, B x T."""
        if self.cfg.eval_retrieval_without_specials:
            return specials_among(tokens, self.model_sizes)
        return torch.zeros_like(tokens, dtype=torch.bool)

    def measured_parts(self) -> list[str]:
        return [format_direction(pair) for pair in self.pairs]

    def reduce_metrics(self, logging_outputs, criterion):
        super().reduce_metrics(logging_outputs, criterion)
        if criterion.training:
            return
        validation.log_direction_losses(logging_outputs, self.pairs)
        self.retrieval.log(with_precision=self.cfg.eval_retrieval)


def _tokens_read_by(model) -> int:
    """The longest sentence that a model reads on either side of a pair, `</s>` included."""
    longest = model.encoder.max_positions()
    return min(longest, model.decoder.max_positions() - 1) if has_decoder(model) else longest
