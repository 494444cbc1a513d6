"""The options of the task `sentence_embedding`, and which of them, and of the losses, do not go together."""

import math
from dataclasses import dataclass
from typing import Optional

from fairseq.dataclass import ChoiceEnum

from command_line.errors import InputError
from data_prep.formats.directions import Direction, format_direction, parse_directions
from fairseq_ext.criterions.options_of_losses import TRANSLATION
from fairseq_ext.data import layer_sums
from fairseq_ext.data.training_sample import TrainingSample
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.modules.similarity import BERT_SCORE
from fairseq_ext.options import option
from fairseq_ext.tasks import frozen_vectors
from fairseq_ext.tasks.retrieval_validation import SIMILARITIES
from fairseq_ext.tasks.shared_options import SharedTaskConfig, check_shared_options

SHORTEST_CUT = 2  # a token and </s>
TEACHER_POOLINGS = ("mean", "cls", "pooler")


@dataclass
class SentenceEmbeddingConfig(SharedTaskConfig):
    pairs: str = option(
        "pairs of languages to train on, for example de-en,fr-en; both sides of a pair are "
        "encoded in every step, so one order of its languages suffices",
        "",
    )
    max_source_positions: int = option(
        "longer sentences are cut to so many tokens, </s> included (thesis 2.3.3: 120)", 120
    )
    max_target_positions: Optional[int] = option(
        "positions of a decoder, if there is one, language tag included (default: one more than "
        "--max-source-positions)"
    )
    random_sides: bool = option(
        "which sentence of a pair is the source is random, anew in every epoch", False
    )
    random_batches: bool = option(
        "batches are of pairs of any length, and padded (default: of like length, so that wrong "
        "translations in a batch are as long as the right one)",
        False,
    )
    pair_budget: Optional[int] = option(
        "train on so many pairs of sentences in all, drawn at random from those of all --pairs, "
        "the same ones in every epoch (Niu et al. 2022, 3.1: 1000000; default: all)"
    )
    min_tokens: int = option(
        "then leave out pairs of which a sentence has fewer tokens, </s> not included "
        "(Niu et al. 2022, 3.1: 5)",
        0,
    )
    max_pair_tokens: Optional[int] = option(
        "leave out pairs of which both sentences together have more tokens, </s> not included "
        "(Pan, Hang et al. 2021, 3.1: 128; default: none)"
    )
    first_pairs: Optional[int] = option(
        "then take the first so many of every one of --pairs (Pan, Hang et al. 2021: 250000, "
        "600000 or 2000000; default: all)"
    )
    unpaired: bool = option(
        "the two sides of a batch are drawn independently: from the sides of a bitext or, where "
        "there is none, from all texts of both languages (Tien and Steinert-Threlkeld 2022, 3.2)",
        False,
    )
    alignments: Optional[str] = option(
        "which word alignments the losses read (`data_prep align --aligner`, or its `--name`); "
        "default: the only one in the data folder"
    )
    teacher: Optional[str] = option(
        "name of the teacher whose vectors the losses read (`embeddings encode --data --name`; thesis 3.3)"
    )
    teacher_checkpoint: Optional[str] = option(
        "in place of --teacher: a sentence encoder of the same dictionary that encodes every "
        "batch; slower, and takes no disk. A checkpoint, or a folder of sentence-transformers or "
        "transformers (LaBSE, …) whose tokenizer is the data's (`data_prep subword --tokenizer`)"
    )
    teacher_pooling: Optional[str] = option(
        "of a folder of transformers that --teacher-checkpoint names: mean, cls or pooler, as of "
        "`embeddings encode --encoder transformers --pooling`"
    )
    encoder_vectors: Optional[str] = option(
        "with --freeze-encoder and --sentence-width: name of the vectors that this very encoder "
        "has stored (`embeddings encode --data --name`); no update runs its layers, and the linear map "
        "alone is trained (thesis 3.2.2)"
    )
    layer_sums: Optional[str] = option(
        "with --freeze-encoder: name of the stored sums over tokens of all layers, which "
        "training reads in place of encoding (`embeddings encode --data --layer-sums --name`; Tien and "
        "Steinert-Threlkeld 2022, 3.1)"
    )
    eval_retrieval: bool = option(
        "validate by P@1 of retrieval, mean of both directions of every pair, and their "
        "mean `retrieval`: for --best-checkpoint-metric retrieval --maximize-best-checkpoint-metric",
        False,
    )
    eval_retrieval_similarity: ChoiceEnum(SIMILARITIES) = option(
        "of --eval-retrieval: cosine of the sentence vectors, or BERT-score by cosines of the "
        "states that are pooled (Niu et al. 2022, 3.3), which are kept until the validation is over",
        "cosine",
    )
    eval_retrieval_normalization: float = option(
        "of --eval-retrieval: alpha of the normalization over the whole set "
        "(Niu et al. 2022, 2.2: 0.75); 0: without",
        0.0,
    )
    eval_retrieval_without_specials: bool = option(
        "of --eval-retrieval-similarity bert-score: <s> and </s> have no share in the means over tokens",
        False,
    )


def check_options(cfg: SentenceEmbeddingConfig) -> None:
    """Refuse values that there cannot be, and options that do not go together."""
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
    if not cfg.eval_retrieval:
        given = {
            "--eval-retrieval-similarity": cfg.eval_retrieval_similarity != SIMILARITIES[0],
            "--eval-retrieval-normalization": cfg.eval_retrieval_normalization != 0,
            "--eval-retrieval-without-specials": cfg.eval_retrieval_without_specials,
        }
        for typed in (typed for typed, is_given in given.items() if is_given):
            raise InputError(f"{typed}: needs --eval-retrieval; give both")
    if cfg.eval_retrieval_without_specials and cfg.eval_retrieval_similarity != BERT_SCORE:
        raise InputError(
            f"--eval-retrieval-without-specials: needs --eval-retrieval-similarity {BERT_SCORE}; give both"
        )
    if cfg.layer_sums and cfg.encoder_vectors:
        raise InputError("--layer-sums: --encoder-vectors is given, too; give one of them")
    if cfg.unpaired and cfg.encoder_vectors:
        raise InputError(
            "--encoder-vectors: not with --unpaired, which draws the sentences of a side anew in every epoch;"
            " --layer-sums follow them"
        )
    for typed in ("max_pair_tokens", "first_pairs"):
        if cfg.unpaired and getattr(cfg, typed) is not None:
            name = typed.replace("_", "-")
            raise InputError(f"--{name}: not with --unpaired, which has no pairs of sentences")
    if cfg.unpaired and cfg.random_sides:
        raise InputError("--random-sides: not with --unpaired, whose sides are languages")
    if cfg.encoder_vectors and cfg.eval_retrieval_similarity == BERT_SCORE:
        raise InputError(
            f"--eval-retrieval-similarity {BERT_SCORE}: needs states of tokens; --encoder-vectors has none"
        )
    _check_teacher_options(cfg)
    TrainingSample.of(cfg)  # checks its options


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


def check_losses(cfg: SentenceEmbeddingConfig, criterion) -> None:
    """Compare what the losses look at with what is at hand, and what they expect of the two sides of a batch
    with what these are.

    Raises:
        InputError: a loss of more than what is stored, of translations without any, or of languages with
            sides at random or a language on both of them; a teacher from which no loss learns.
    """
    _check_teacher(cfg, criterion.names)
    given = {frozen_vectors.OPTION: cfg.encoder_vectors, layer_sums.OPTION: cfg.layer_sums}
    options = [option for option, name in given.items() if name]
    for name in criterion.names:
        if cfg.unpaired and (name == TRANSLATION or LOSSES[name].needs_translations):
            unpaired = [each for each, loss in LOSSES.items() if not loss.needs_translations]
            raise InputError(
                f"--unpaired: --losses {name} needs translations; {', '.join(unpaired)} do without"
            )
        if name != TRANSLATION and LOSSES[name].sides_are_languages:
            _check_sides(cfg, name)
        if options and (name == TRANSLATION or not _needs_vectors_only(criterion.losses[name])):
            raise InputError(
                f"{options[0]}: --losses {name} looks at more than vectors of sentences, and "
                "nothing else is stored; expected losses such as additive_margin"
            )
        if options and LOSSES[name].hides_tokens:
            raise InputError(
                f"{options[0]}: --losses {name} hides words from the encoder, which has seen them in what is"
                " stored; leave one of them out"
            )


def _needs_vectors_only(loss) -> bool:
    return loss.looks_at_vectors_only and not loss.runs_encoder


def _check_sides(cfg: SentenceEmbeddingConfig, loss: str) -> None:
    """Check the pairs of a loss to which a side of the batch is a language, or a group of languages."""
    if cfg.random_sides:
        raise InputError(f"--random-sides: not with --losses {loss}, to which a side is a language")
    first, second = map(set, zip(*parse_pairs(cfg.pairs), strict=True))
    if both := sorted(first & second):
        raise InputError(
            f"--pairs {cfg.pairs}: {both[0]} is on both sides, and to --losses {loss} a side is a language; "
            "expected every language on one side, for example de-en,fr-en"
        )


def _check_teacher_options(cfg: SentenceEmbeddingConfig) -> None:
    if cfg.teacher and cfg.teacher_checkpoint:
        raise InputError("--teacher: --teacher-checkpoint is given, too; give one of them")
    if cfg.teacher_pooling is None:
        return
    if not cfg.teacher_checkpoint:
        raise InputError("--teacher-pooling: needs a folder as --teacher-checkpoint; give both, or none")
    if cfg.teacher_pooling not in TEACHER_POOLINGS:
        expected = ", ".join(TEACHER_POOLINGS)
        raise InputError(f"--teacher-pooling: found {cfg.teacher_pooling!r}, expected one of {expected}")


def _check_teacher(cfg: SentenceEmbeddingConfig, losses: list[str]) -> None:
    taught = [name for name, loss in LOSSES.items() if "teacher" in loss.batch_fields]
    for typed, given in (("--teacher", cfg.teacher), ("--teacher-checkpoint", cfg.teacher_checkpoint)):
        if given and not set(losses).intersection(taught):
            raise InputError(
                f"{typed} {given}: none of --losses {','.join(losses)} learns from a teacher; leave the"
                f" option out, or add {' or '.join(taught)}"
            )
