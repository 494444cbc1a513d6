"""Task `sentence_embedding`: one sentence encoder for any set of languages, trained on pairs of sentences
that mean the same (thesis chapter 2).
"""

import functools
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Optional

import numpy as np
import torch
from fairseq import utils
from fairseq.dataclass import ChoiceEnum
from fairseq.tasks import register_task

from command_line.errors import InputError
from data_prep.formats.dictionary import (
    languages_with_dictionary,
    load_shared_dictionary,
    with_dictionary,
)
from data_prep.formats.directions import Direction, format_direction, parse_directions
from data_prep.formats.sentences import load_pair, load_sentences
from fairseq_ext.checkpoints import origin
from fairseq_ext.criterions.options_of_losses import TRANSLATION
from fairseq_ext.data import layer_sums
from fairseq_ext.data.batch_fields import FIELDS, FieldSource
from fairseq_ext.data.multilingual_dataset import DirectionData
from fairseq_ext.data.sentence_pairs import CutSentences, SentencePairDataset
from fairseq_ext.data.teachers import StoredTeacher, Teacher
from fairseq_ext.data.training_sample import TrainingSample
from fairseq_ext.data.unpaired import ChosenSentences, UnpairedDataset, load_sides
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import has_decoder, padding_of, states_of, vectors_of
from fairseq_ext.modules.similarity import BERT_SCORE
from fairseq_ext.tasks import frozen_vectors, validation
from fairseq_ext.tasks.base import BaseTask
from fairseq_ext.tasks.frozen_vectors import FrozenVectors
from fairseq_ext.tasks.retrieval_validation import SIMILARITIES, RetrievalValidation
from fairseq_ext.tasks.running_teacher import RunningTeacher
from fairseq_ext.tasks.shared_options import SharedTaskConfig, check_shared_options, languages_with_tag

logger = logging.getLogger(__name__)
PAIR_FIELDS = (
    "mirror",
    "source_languages",
    "target_languages",
)  # what a pair is, whatever the losses ask for
SHORTEST_CUT = 2  # a token and </s>


@dataclass
class SentenceEmbeddingConfig(SharedTaskConfig):
    pairs: str = field(
        default="",
        metadata={
            "help": "pairs of languages to train on, for example de-en,fr-en; both sides of a pair are "
            "encoded in every step, so one order of its languages suffices"
        },
    )
    max_source_positions: int = field(
        default=120,
        metadata={"help": "longer sentences are cut to so many tokens, </s> included (thesis 2.3.3: 120)"},
    )
    max_target_positions: int = field(
        default=121, metadata={"help": "longest target of a decoder, if there is one, language tag included"}
    )
    random_sides: bool = field(
        default=False,
        metadata={"help": "which sentence of a pair is the source is random, anew in every epoch"},
    )
    pair_budget: Optional[int] = field(
        default=None,
        metadata={
            "help": "train on so many pairs of sentences in all, drawn at random from those of all --pairs, "
            "the same ones in every epoch (Niu et al. 2022, 3.1: 1000000; default: all)"
        },
    )
    min_tokens: int = field(
        default=0,
        metadata={
            "help": "then leave out pairs of which a sentence has fewer tokens, </s> not included "
            "(Niu et al. 2022, 3.1: 5)"
        },
    )
    unpaired: bool = field(
        default=False,
        metadata={
            "help": "the two sides of a batch are drawn independently: from the sides of a bitext or, where "
            "there is none, from all texts of both languages (Tien and Steinert-Threlkeld 2022, 3.2)"
        },
    )
    alignments: Optional[str] = field(
        default=None,
        metadata={
            "help": "aligner whose word alignments the losses read (`data_prep align --aligner`); "
            "default: the only one in the data folder"
        },
    )
    teacher: Optional[str] = field(
        default=None,
        metadata={
            "help": "name of the teacher whose vectors the losses read (`embeddings encode --data --name`; "
            "thesis 3.3)"
        },
    )
    teacher_checkpoint: Optional[str] = field(
        default=None,
        metadata={
            "help": "in place of --teacher: a sentence encoder of the same dictionary that encodes every "
            "batch; slower, and takes no disk"
        },
    )
    encoder_vectors: Optional[str] = field(
        default=None,
        metadata={
            "help": "with --freeze-encoder and --sentence-width: name of the vectors that this very encoder "
            "has stored (`embeddings encode --data --name`); no update runs its layers, and the linear map "
            "alone is trained (thesis 3.2.2)"
        },
    )
    layer_sums: Optional[str] = field(
        default=None,
        metadata={
            "help": "with --freeze-encoder: name of the stored sums over tokens of all layers, which "
            "training reads in place of encoding (`embeddings encode --data --layer-sums --name`; Tien and "
            "Steinert-Threlkeld 2022, 3.1)"
        },
    )
    eval_retrieval: bool = field(
        default=False,
        metadata={
            "help": "validate by P@1 of retrieval, mean of both directions of every pair, and their "
            "mean `retrieval`: for --best-checkpoint-metric retrieval --maximize-best-checkpoint-metric"
        },
    )
    eval_retrieval_similarity: ChoiceEnum(SIMILARITIES) = field(
        default="cosine",
        metadata={
            "help": "of --eval-retrieval: cosine of the sentence vectors, or BERT-score by cosines of the "
            "states that are pooled (Niu et al. 2022, 3.3), which are kept until the validation is over"
        },
    )
    eval_retrieval_normalization: float = field(
        default=0.0,
        metadata={
            "help": "of --eval-retrieval: alpha of the normalization over the whole set "
            "(Niu et al. 2022, 2.2: 0.75); 0: without"
        },
    )


@register_task("sentence_embedding", dataclass=SentenceEmbeddingConfig)
class SentenceEmbeddingTask(BaseTask):
    """Trains on `--pairs`. No sentence that the encoder reads has a language tag, so that inference needs no
    language; losses know the languages of a pair from the batch, and a decoder from the tag in front of its
    sentence.

    Args:
        cfg: the options.
        dictionary: the joint dictionary; tags are appended to it.
    """

    cfg: SentenceEmbeddingConfig

    def __init__(self, cfg: SentenceEmbeddingConfig, dictionary):
        super().__init__(cfg, dictionary)
        self.pairs = parse_pairs(cfg.pairs)
        self.decodes = False
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
        check_shared_options(cfg)
        if cfg.max_source_positions < SHORTEST_CUT:
            raise InputError(
                f"--max-source-positions {cfg.max_source_positions}: expected {SHORTEST_CUT} tokens or more"
            )
        if not 0 <= cfg.eval_retrieval_normalization < math.inf:
            raise InputError(
                f"--eval-retrieval-normalization {cfg.eval_retrieval_normalization}: "
                "expected a number, 0 or above"
            )
        if cfg.layer_sums and cfg.autocast_bf16:
            raise InputError("--autocast-bf16: not with --layer-sums, which leave nothing to compute in it")
        if cfg.layer_sums and cfg.encoder_vectors:
            raise InputError("--layer-sums: --encoder-vectors is given, too; give one of them")
        if cfg.unpaired and cfg.random_sides:
            raise InputError("--random-sides: not with --unpaired, whose sides are languages")
        if cfg.encoder_vectors and cfg.eval_retrieval_similarity == BERT_SCORE:
            raise InputError(
                f"--eval-retrieval-similarity {BERT_SCORE}: of states of tokens; --encoder-vectors has none"
            )
        TrainingSample.of(cfg)  # checks its options
        pairs = parse_pairs(cfg.pairs)
        if not pairs:
            raise InputError("--pairs: names none; expected pairs of languages, for example de-en,fr-en")
        languages = languages_with_tag(cfg, chain.from_iterable(pairs), "--pairs")
        return cls(cfg, load_shared_dictionary(folder, with_dictionary(folder, languages)))

    def _find_teacher(self) -> Teacher | None:
        folder = self.cfg.data and utils.split_paths(self.cfg.data)[0]
        if self.cfg.teacher_checkpoint:
            if self.cfg.teacher:
                raise InputError("--teacher: --teacher-checkpoint is given, too; give one of them")

            def make_task(longest: int) -> SentenceEmbeddingTask:
                cfg = SentenceEmbeddingConfig(data=self.cfg.data, max_source_positions=longest)
                return type(self)(cfg, load_shared_dictionary(folder, languages_with_dictionary(folder)))

            return RunningTeacher.load(self.cfg.teacher_checkpoint, make_task)
        return StoredTeacher(folder, self.cfg.teacher) if self.cfg.teacher else None

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

    # --- data

    def make_dataset(self, folder: str, name: str, is_training: bool, **options) -> SentencePairDataset:
        if is_training and self.cfg.unpaired:
            return self._unpaired(folder, name, **options)
        opened = self._opened(name)
        parts = [
            self._with_fields(
                folder, name, pair, *self._cut(name, pair, load_pair(folder, name, pair, opened))
            )
            for pair in self.pairs
        ]
        opposites = None
        if is_training and self.cfg.random_sides:
            opposites = [
                self._with_fields(folder, name, part.direction[::-1], part.targets, part.sources)
                for part in parts
            ]
        if is_training:
            sizes = [np.minimum(part.source_sizes, part.target_sizes) for part in parts]
            names = [f"{name} {format_direction(pair)}" for pair in self.pairs]
            options["chosen"] = TrainingSample.of(self.cfg).lines(names, sizes)
        return SentencePairDataset(parts, opposites, self.decodes, **options)

    def _unpaired(self, folder: str, name: str, **options) -> UnpairedDataset:
        """Either side has the whole budget."""
        opened = self._opened(name)
        texts = [self._cut(name, pair, load_sides(folder, name, pair, opened)) for pair in self.pairs]
        chosen = [self.pairs]
        for side in (0, 1):
            names = [f"{name} {format_direction(pair)} {pair[side]}" for pair in self.pairs]
            own = [text[side] for text in texts]
            lines = TrainingSample.of(self.cfg).lines(names, [text.sizes for text in own])
            chosen.append(map(ChosenSentences, own, lines))
        make_part = functools.partial(self._with_fields, folder, name)
        return UnpairedDataset(list(zip(*chosen, strict=True)), make_part, self.decodes, **options)

    def _opened(self, split: str) -> Callable[[Path], Sequence]:
        """How the sentences of a prefix are opened; sets that are not trained on are encoded."""
        if not self.cfg.layer_sums or split != self.cfg.train_subset:
            return load_sentences
        longest = self.cfg.max_source_positions
        return lambda prefix: layer_sums.SummedSentences(prefix, self.cfg.layer_sums, longest)

    def _cut(self, split: str, pair: Direction, texts) -> list[CutSentences]:
        longest = self.cfg.max_source_positions
        sides = [CutSentences(sentences, longest, self.dictionary.eos()) for sentences in texts]
        for language, side in zip(pair, sides, strict=True):
            if side.cut:
                logger.info(
                    f"{split} {format_direction(pair)}: {side.cut:,} of {len(side):,} sentences in "
                    f"{language} are cut to {longest} tokens (--max-source-positions)"
                )
        return sides

    def _with_fields(self, folder, split: str, pair: Direction, source, target) -> DirectionData:
        part = DirectionData.with_tags(self.tags, pair, source, target, source.sizes, target.sizes)
        field_source = FieldSource(
            part,
            self.tags,
            folder,
            split,
            aligner=self.cfg.alignments,
            teacher=self.teacher,
            encoder_vectors=self.frozen_vectors and self.frozen_vectors.stored,
        )
        further = [frozen_vectors.FIELD] if self.frozen_vectors else []
        for name in dict.fromkeys((*PAIR_FIELDS, *further, *self.batch_fields)):
            part.fields[name] = FIELDS[name](field_source)
        if self.cfg.layer_sums and split == self.cfg.train_subset:
            part.fields[layer_sums.FIELD] = layer_sums.LayerSumsField(source, target)
        return part

    # --- model and criterion

    def build_model(self, cfg, from_checkpoint=False):
        model = super().build_model(cfg, from_checkpoint)
        self.decodes = has_decoder(model)
        if self.cfg.layer_sums:
            layer_sums.check_encoder(model.encoder)
        if self.teacher is not None:
            self.model_sizes = replace(self.model_sizes, teacher_width=self.teacher.width)
        if self.frozen_vectors is not None:
            self.frozen_vectors.freeze(model, cfg.freeze_encoder)
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
        self._check_sides(losses)
        self._check_states(criterion)
        return criterion

    def _check_states(self, criterion) -> None:
        """Refuse losses of what is not stored.

        Raises:
            InputError: one looks at more than vectors.
        """
        given = {frozen_vectors.OPTION: self.cfg.encoder_vectors, layer_sums.OPTION: self.cfg.layer_sums}
        options = [option for option, name in given.items() if name]
        for name in criterion.names if options else ():
            if name == TRANSLATION or not criterion.losses[name].looks_at_vectors_only:
                raise InputError(
                    f"{options[0]}: --losses {name} looks at more than vectors of sentences, and "
                    "nothing else is stored; expected losses such as additive_margin"
                )

    def _check_sides(self, losses: Sequence[str]) -> None:
        """Compare what the losses expect of the two sides of a batch with what they are.

        Raises:
            InputError: a loss of translations without any, or one of languages with sides at random.
        """
        for name in losses:
            if self.cfg.unpaired and (name == TRANSLATION or LOSSES[name].needs_translations):
                unpaired = [each for each, loss in LOSSES.items() if not loss.needs_translations]
                raise InputError(
                    f"--unpaired: --losses {name} needs translations; {', '.join(unpaired)} do without"
                )
            if self.cfg.random_sides and name != TRANSLATION and LOSSES[name].sides_are_languages:
                raise InputError(f"--random-sides: not with --losses {name}, to which a side is a language")

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
        loss, sample_size, logging_output = super().valid_step(sample, model, criterion)
        with torch.no_grad(), self.computing(sample):  # what losses see may have been altered for them
            inputs = {name: of for name, of in sample["net_input"].items() if name != "prev_output_tokens"}
            encoded = [model.encoder(**side) for side in (inputs, sample["mirror"])]
        number = int(sample["parts"][0])
        self.retrieval.add(sample["split"], number, sample["lines"], *map(vectors_of, encoded))
        if self.retrieval.needs_tokens:
            tokens = [(states_of(each), padding_of(each)) for each in encoded]
            self.retrieval.add_tokens(number, sample["lines"], *tokens)
        logging_output = validation.add_direction_losses(
            logging_output, self.pairs, self.pairs[number], supervised=True
        )
        return loss, sample_size, logging_output

    def reduce_metrics(self, logging_outputs, criterion):
        super().reduce_metrics(logging_outputs, criterion)
        if criterion.training:
            return
        validation.log_direction_losses(logging_outputs, self.pairs)
        self.retrieval.log(with_precision=self.cfg.eval_retrieval)


def parse_pairs(text: str | None) -> list[Direction]:
    """`de-en,fr-en` -> [("de", "en"), ("fr", "en")].

    Raises:
        InputError: an entry is no pair of two languages, or occurs twice, in whatever order.
    """
    pairs = parse_directions(text, "--pairs")
    for pair in pairs:
        if pair[::-1] in pairs:
            raise InputError(
                f"--pairs: {format_direction(pair)} and {format_direction(pair[::-1])} are the same "
                "sentences; give one of them"
            )
    return pairs
