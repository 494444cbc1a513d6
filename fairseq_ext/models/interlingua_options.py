"""Options of the model `interlingua_transformer`: which interlingua, how long, what fits together."""

from dataclasses import dataclass
from typing import Optional

from fairseq.dataclass import ChoiceEnum

from command_line.errors import InputError
from fairseq_ext.models.mnmt_transformer import MnmtTransformerConfig
from fairseq_ext.options import option

VARIABLE, UNIVERSAL, LANGUAGE_SPECIFIC = "variable", "fixed-universal", "fixed-language-specific"
INTERLINGUAS = {  # as Table 7.2 calls them
    VARIABLE: "Len-vari. Intl.",
    UNIVERSAL: "Len-fix. Uni. Intl.",
    LANGUAGE_SPECIFIC: "Len-fix. LS. Intl.",
}


@dataclass
class InterlinguaTransformerConfig(MnmtTransformerConfig):
    interlingua: ChoiceEnum(list(INTERLINGUAS)) = option(
        "queries: variable = as many as the sentence has tokens in the centric language; fixed = "
        "--interlingua-length, the same or other ones for every language (thesis 7.2.1, 7.3.3)",
        VARIABLE,
    )
    interlingua_layers: int = option("M; the paper has 3 beside 3 --encoder-layers (thesis 7.3.3)", 3)
    interlingua_length: Optional[int] = option(
        "number of fixed queries; 17, 21, 30 for OPUS, IWSLT, Europarl (thesis 7.3.3)"
    )
    interlingua_max_length: int = option(
        "K: lengths that the predictor knows, and queries of a language; variable: longer "
        "sentences are left out of the training (thesis 7.3.2: 256)",
        256,
    )
    interlingua_ffn_embed_dim: Optional[int] = option(
        "width of the interlingua's feed-forward networks (default: half the encoder's, so that "
        'an interlingua layer is as large as an encoder layer: "almost the same" size, thesis 7.2.1)'
    )
    interlingua_full_ffn: bool = option(
        "the interlingua's feed-forward networks are as wide as the encoder's (thesis 7.2.1 "
        "names no other width)",
        False,
    )
    centric_language: Optional[str] = option(
        "variable: language whose lengths count (default: the one in all --lang-pairs); pairs "
        "without it are trained with predicted lengths"
    )
    interlingua_length_jitter: float = option(
        "variable: in training, lengths of sentences in the other languages are multiplied by "
        "random numbers from 1 - J to 1 + J, so that the decoder tolerates wrong ones (not in the thesis)",
        0.0,
    )
    length_predictor_source_length: bool = option(
        "variable: the length predictor also sees the source's length (not in the thesis)", False
    )
    length_predictor_regression: bool = option(
        "variable: the length is predicted as a number, not as a class (thesis 7.2.1, footnote 3)", False
    )


def check_options(cfg, task) -> None:
    """Refuse options that the task or other options rule out.

    Raises:
        InputError: they contradict each other, or the task has no tags, or not those that are needed.
    """
    kind = str(cfg.interlingua)
    if getattr(task, "tags", None) is None:
        raise InputError(
            "--arch interlingua_transformer: needs --task multilingual_nmt, which knows languages"
        )
    placement = task.tags.placement
    if kind != UNIVERSAL and "source" not in placement.encoder:
        raise InputError(
            f"--interlingua {kind}: needs the source language on the encoder; use --language-tags s-enc-t-dec"
        )
    if kind != VARIABLE and not (cfg.interlingua_length or 0) > 0:
        raise InputError(
            f"--interlingua-length {cfg.interlingua_length}: --interlingua {kind} needs a number above 0"
        )
    if kind == VARIABLE and cfg.interlingua_length:
        raise InputError("--interlingua-length: --interlingua variable predicts the length; leave it out")
    of_variable = (
        "centric_language",
        "interlingua_length_jitter",
        "length_predictor_source_length",
        "length_predictor_regression",
    )
    for name in of_variable:
        if kind != VARIABLE and getattr(cfg, name):
            option = name.replace("_", "-")
            raise InputError(f"--{option}: has no meaning with --interlingua {kind}; leave it out")
    if cfg.interlingua_full_ffn and cfg.interlingua_ffn_embed_dim:
        raise InputError(
            f"--interlingua-ffn-embed-dim {cfg.interlingua_ffn_embed_dim}: contradicts "
            "--interlingua-full-ffn; give one of them"
        )
    if cfg.interlingua_max_length < 1:
        raise InputError(f"--interlingua-max-length {cfg.interlingua_max_length}: expected at least 1")
    if cfg.interlingua_layers < 1:
        raise InputError(f"--interlingua-layers {cfg.interlingua_layers}: expected at least 1")
    if not 0 <= cfg.interlingua_length_jitter < 1:
        raise InputError(
            f"--interlingua-length-jitter {cfg.interlingua_length_jitter}: expected from 0 to below 1"
        )


def centric_language(chosen: str | None, languages, directions) -> str:
    """The chosen language, or the one that takes part in every direction.

    Raises:
        InputError: the chosen one is none of the languages; or nothing is chosen and there is not one such
            language.
    """
    if chosen is not None:
        if chosen not in languages:
            raise InputError(f"--centric-language {chosen}: expected one of {', '.join(languages)}")
        return chosen
    common = set.intersection(*(set(direction) for direction in directions)) if directions else set()
    if len(common) == 1:
        return common.pop()
    if common:
        raise InputError(f"--centric-language: expected one of {', '.join(sorted(common))}")
    raise InputError(
        "--interlingua variable: no language is in all --lang-pairs, so the length of the interlingua is "
        "unknown; train on pairs with one language in the middle, name one with --centric-language, or use "
        "--interlingua fixed-universal"
    )
