"""The tokenizer of a masked language model: pieces of SentencePiece in a folder of `transformers`.

Its layout is XLM-R's (Conneau et al. 2020): `<s>`, `<pad>`, `</s>`, `<unk>`, the pieces, `<mask>`; a sentence
is read as `<s> A </s>`.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import count_lines, read_lines
from command_line.outputs import scratch_folder
from data_prep.model_folders import loading
from data_prep.subword_learning import PieceTraining, learn_sentence_pieces

BEGIN, PADDING, END, UNKNOWN, MASK = "<s>", "<pad>", "</s>", "<unk>", "<mask>"


def sampling_shares(sizes: Sequence[int], temperature: float) -> np.ndarray:
    """The share of every language in what is drawn, proportional to size^(1 / temperature)."""
    shares = np.asarray(sizes, dtype=np.float64) ** (1 / temperature)
    return shares / shares.sum()


def learn_tokenizer(
    texts: Sequence[Path], size: int, lines: int, temperature: float, seed: int, longest: int, folder: Path
):
    """A tokenizer of `size` symbols, special ones included, from a sample of the languages' texts.

    Args:
        lines: of the sample, all languages together.

    Returns:
        A `transformers.XLMRobertaTokenizerFast`.

    Raises:
        InputError: the text is too small for so many pieces, or for fewer symbols than it has characters.
    """
    sizes = [count_lines(path) for path in texts]
    wanted = (sampling_shares(sizes, temperature) * lines).astype(int).clip(1, sizes)
    random = np.random.default_rng(seed)
    with scratch_folder(folder) as scratch:
        sample, model = scratch / "sample", scratch / "pieces.model"
        with open(sample, "w", encoding="utf-8") as stream:
            for path, lines_there, few in zip(texts, sizes, wanted, strict=True):
                stream.writelines(f"{line}\n" for line in _drawn(path, lines_there, few, random))
        try:
            learn_sentence_pieces([sample], PieceTraining(size - 2, seed=seed), model)
        except InputError as error:
            raise InputError(f"--vocabulary-size {size}: {str(error).partition(': ')[2]}") from None
        return tokenizer_of_pieces(model, longest)


def _drawn(path: Path, lines: int, few: int, random: np.random.Generator) -> Iterator[str]:
    """Some lines of a text, in its order; none of them empty."""
    rows = set(random.choice(lines, few, replace=False).tolist())
    return (line for number, line in enumerate(read_lines(path)) if number in rows and line.strip())


def tokenizer_of_pieces(model: Path, longest: int):
    """A tokenizer of `transformers` that segments as a unigram model of SentencePiece does."""
    import sentencepiece
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import XLMRobertaTokenizerFast

    learned = sentencepiece.SentencePieceProcessor(model_file=str(model))
    pieces = [
        (learned.id_to_piece(number), learned.get_score(number))
        for number in range(len(learned))
        if not (learned.is_control(number) or learned.is_unknown(number))
    ]
    symbols = [(name, 0.0) for name in (BEGIN, PADDING, END, UNKNOWN)] + pieces + [(MASK, 0.0)]
    tokenizer = Tokenizer(models.Unigram(symbols, unk_id=3))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )  # as `data_prep clean` does
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}",
        pair=f"{BEGIN} $A {END} {END} $B {END}",
        special_tokens=[(BEGIN, 0), (END, 2)],
    )
    return XLMRobertaTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest)


def load_tokenizer(folder: Path, longest: int):
    """The tokenizer of another model.

    Raises:
        InputError: the folder has none, or one without a symbol for masks or padding.
    """
    tokenizer = loading.load_tokenizer(folder, "--tokenizer")
    for name, symbol in (("mask", tokenizer.mask_token_id), ("padding", tokenizer.pad_token_id)):
        if symbol is None:
            raise InputError(f"--tokenizer {folder}: has no symbol for {name}; expected that of an encoder")
    tokenizer.model_max_length = longest
    return tokenizer


def windows_of(lines: Iterator[str], size: int = 4096) -> Iterator[list[str]]:
    """The lines that are not empty, so many at a time."""
    lines = (line for line in lines if line.strip())
    while window := list(islice(lines, size)):
        yield window
