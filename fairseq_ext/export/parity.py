"""Whether an exported encoder makes of text what the checkpoint makes of it, line by line."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from command_line.errors import InputError
from command_line.lines import read_lines
from data_prep.formats.preparation import Preparation
from data_prep.formats.texts import language_in_name
from data_prep.tokenizers import LOWERCASE, UNSPLIT, make_tokenizer
from fairseq_ext.data.dataset_parts import pad_right
from fairseq_ext.export.tokenizer import ExportedTokenizer, expected_ids
from fairseq_ext.inference import LoadedModel
from fairseq_ext.modules.pooling import sentence_means

BATCH = 32  # sentences


@dataclass(frozen=True)
class CheckText:
    """Lines of one language.

    Attributes:
        given: the same as the exported tokenizer expects them, split into words if need be.
        ids: fairseq's, as our training reads the lines.
    """

    language: str
    lines: list[str]
    given: list[str]
    ids: list[list[int]]


def check_texts(
    preparation: Preparation, dictionary, files: Sequence[Path], lines: int, longest: int
) -> list[CheckText]:
    """The first lines of every language.

    Args:
        files: texts whose names end with their language; none for the evaluation sets beside the data.
        lines: of a file.
        longest: tokens of a sentence, `</s>` included.

    Raises:
        InputError: a file is missing, or in a language that the data does not have.
    """
    by_language = {path: language_in_name(path) for path in files} or _evaluation_sets(preparation)
    texts = []
    for path, language in by_language.items():
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected text, one sentence per line")
        raw = [line for _, line in zip(range(lines), read_lines(path), strict=False) if line.strip()]
        name = _tokenizer_name(preparation, language, path).removesuffix(LOWERCASE)
        words = make_tokenizer(name, language)
        # whoever splits text into words normalizes it before; of other text, the exported tokenizer does
        whole = raw if name in UNSPLIT else map(preparation.as_normalized, raw)
        tokenized_as = preparation.languages[0] if language not in preparation.tokenizers else language
        ids = [expected_ids(preparation, dictionary, tokenized_as, line, longest) for line in raw]
        texts.append(CheckText(language, raw, [words.tokenize(line) for line in whole], ids))
    return texts


def _tokenizer_name(preparation: Preparation, language: str | None, path: Path) -> str:
    """That of the language; of another one, the only one that there is."""
    tokenizers = preparation.tokenizers
    if language in tokenizers:
        return tokenizers[language]
    if len(set(tokenizers.values())) == 1:
        return next(iter(tokenizers.values()))
    raise InputError(
        f"{path}: its name ends with no language of the data; expected {', '.join(sorted(tokenizers))}"
    )


def _evaluation_sets(preparation: Preparation) -> dict[Path, str]:
    """One text of every language, of the sets that have raw text."""
    sets: dict[str, Path] = {}
    for split, pairs in preparation.pairs.items():
        for pair in pairs:
            for language in pair.split("-"):
                path = preparation.text_path(split, pair, language)
                if path.is_file():
                    sets.setdefault(language, path)
    return {path: language for language, path in sorted(sets.items())}


@torch.inference_mode()
def our_vectors(loaded: LoadedModel, ids: Sequence[list[int]]) -> np.ndarray:
    """The vectors of a batch of sentences by the checkpoint itself, n x C."""
    encoder = loaded.model.encoder
    tokens = pad_right([np.asarray(line_ids) for line_ids in ids], encoder.padding_idx)
    return vectors_of(encoder, tokens).float().numpy()


def vectors_of(encoder: nn.Module, tokens: Tensor) -> Tensor:
    """B x T, padded on the right -> B x C: what an encoder pools, or the mean of the states of a translation
    model's.
    """
    padding = tokens.eq(encoder.padding_idx)
    output = encoder(tokens, src_lengths=(~padding).sum(dim=1))
    if "sentence_vectors" in output:
        return output["sentence_vectors"]
    (padding,) = output["encoder_padding_mask"] or [padding]
    return sentence_means(output["encoder_out"][0], padding)


def check_parity(
    texts: Sequence[CheckText],
    tokenizer: ExportedTokenizer,
    loaded: LoadedModel,
    encode: Callable[[list[str]], np.ndarray],
    least: float,
) -> dict:
    """Compare ids and vectors of all lines.

    Args:
        encode: a batch of text as the exported folder expects it -> its vectors, n x C.
        least: cosine that every line must have. Its length may differ by as much as its direction, by
            sqrt(2 - 2 least) of it.

    Returns:
        "lines", "languages", "lowest_cosine", for the record.

    Raises:
        InputError: a line has other ids, or another vector; names the first one.
    """
    lowest = 1.0
    for text in texts:
        check_ids(text, tokenizer)
        starts = range(0, len(text.lines), BATCH)
        if starts:
            ours = [our_vectors(loaded, text.ids[start : start + BATCH]) for start in starts]
            exported = [encode(text.given[start : start + BATCH]) for start in starts]
            vectors = np.concatenate(ours), np.concatenate(exported)
            lowest = min(lowest, check_vectors(text, *vectors, least))
    return {
        "lines": sum(len(text.lines) for text in texts),
        "languages": sorted({text.language for text in texts}),
        "lowest_cosine": lowest,
    }


def check_ids(text: CheckText, tokenizer: ExportedTokenizer) -> None:
    """Compare what the exported tokenizer makes of the lines with what the training read.

    Raises:
        InputError: a line has other ids.
    """
    exported = tokenizer.tokenizer(text.given, truncation=True)["input_ids"]  # where the folder itself cuts
    for line, expected, ids in zip(text.lines, text.ids, exported, strict=True):
        if list(tokenizer.rows[ids[int(tokenizer.has_cls) :]]) != expected:
            raise InputError(
                f"the exported tokenizer splits a line of {text.language} in another way than the"
                f" training did: {line!r:.80}; nothing is written"
            )


def check_vectors(text: CheckText, ours: np.ndarray, exported: np.ndarray, least: float) -> float:
    """Compare vectors of both encoders, n x C: the lowest cosine.

    Raises:
        InputError: a cosine is below `least`, or a length differs by more than that allows.
    """
    own, other = (np.linalg.norm(vectors, axis=1) for vectors in (ours, exported))
    cosines = (ours * exported).sum(axis=1) / np.maximum(own * other, np.finfo(np.float32).tiny)
    row = int(cosines.argmin())
    lowest = float(cosines[row])
    if not lowest >= least:
        raise InputError(
            f"the exported encoder differs from the checkpoint: cosine {lowest:.6f} of a line of"
            f" {text.language}: {text.lines[row]!r:.80}; expected {least} or more; nothing is written"
        )
    longer = np.abs(other / own - 1)
    row = int(longer.argmax())
    if not longer[row] <= math.sqrt(2 - 2 * least):
        raise InputError(
            f"the exported encoder differs from the checkpoint: a vector of length {other[row]:.6g} in"
            f" place of {own[row]:.6g} of a line of {text.language}: {text.lines[row]!r:.80}; nothing is"
            " written"
        )
    return lowest
