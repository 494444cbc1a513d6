"""The segmentation of a DATA folder as a pipeline of `tokenizers`, with fairseq's token ids.

Ids are those of the dictionary, in its order. Behind them come pieces of the sentencepiece model that the
dictionary lacks; fairseq reads `<unk>` for them, so their embeddings are copies of its own.

sentencepiece joins neighbouring characters that are in none of its pieces, and fairseq reads the whole run as
`<unk>`. Here it becomes one character that nothing knows.
"""

import tempfile
from dataclasses import dataclass

import numpy as np

from data_prep.formats.preparation import Preparation
from data_prep.normalization import CONTROLS
from data_prep.subword_models import WORD_BEGINNING
from data_prep.tokenizers import LOWERCASE
from fairseq_ext.export.encoder_graph import refusal
from fairseq_ext.export.sentencepiece_model import UNIGRAM, PieceModel, read_sentencepiece_model

TRANSFORMERS = "transformers"  # type of subwords: the vocabulary of a tokenizer of that library
WHITESPACE = r"[\s\x1c-\x1f]+"  # what Python splits at
# A sigma becomes ς where Python says that a word ends: behind a cased letter, and in front of none, whatever
# case-ignorable characters lie between (The Unicode Standard, 3.13). In front of it those are two at most, as
# lookbehind is of fixed length.
_CASED = r"[\p{Lu}\p{Ll}\p{Lt}\u00aa\u00ba]"
_MARKS = r"'.:·\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
_IGNORED = rf"[\p{{Mn}}\p{{Me}}\p{{Cf}}\p{{Lm}}\p{{Sk}}{_MARKS}]"
FINAL_SIGMA = f"(?<={_CASED}|{_CASED}{_IGNORED}|{_CASED}{_IGNORED}{_IGNORED})Σ(?!{_IGNORED}*{_CASED})"
NOTHING_KNOWS = "\U0010fffd"  # the last character for private use


@dataclass(frozen=True)
class ExportedTokenizer:
    """A tokenizer and what of fairseq's dictionary its ids stand for.

    Attributes:
        rows: fairseq's id of every id of the tokenizer, n int64.
        expects: what must have split the text into words already; empty for raw text.
        longest: tokens of a sentence, all of them counted.
        has_cls: does `<s>` stand in front?
    """

    tokenizer: object
    rows: np.ndarray
    expects: str
    longest: int
    has_cls: bool

    @property
    def end(self) -> int:
        """Id of `</s>`."""
        return self.tokenizer.eos_token_id

    @property
    def special(self) -> dict[str, int]:
        """Ids for the configuration of a model."""
        names = ("pad_token_id", "bos_token_id", "eos_token_id")
        return {name: value for name in names if (value := getattr(self.tokenizer, name)) is not None}


def exported_tokenizer(
    preparation: Preparation, dictionary, longest: int, has_cls: bool, pretokenized: bool, path
) -> ExportedTokenizer:
    """The tokenizer of the text that a model was trained on.

    Args:
        longest: tokens, `</s>` and `<s>` included.
        has_cls: `<s>` stands in front of every sentence.
        pretokenized: the text will be split into words already.

    Raises:
        InputError: the text was split into words, or into subwords, by what no pipeline computes.
    """
    kind = preparation.subword["type"]
    if kind == TRANSFORMERS:
        return _of_transformers(preparation, dictionary, longest, has_cls, path)
    if kind != "sentencepiece":
        raise refusal(
            path,
            f"its subwords are of type {kind}",
            "prepare data with data_prep subword --type sentencepiece",
        )
    lowercase, expects = _word_tokenizers(preparation, pretokenized, path)
    model = read_sentencepiece_model(preparation.folder / preparation.subword["model"])
    vocabulary = Vocabulary.of(model, dictionary)
    tokenizer = pipeline(model, vocabulary, lowercase, preparation.normalized)
    tokenizer.post_processor = _around(vocabulary, dictionary, has_cls)
    roles = ("bos", "pad", "eos", "unk")
    names = {role: vocabulary.entries[getattr(dictionary, role)()][0] for role in roles}
    fast = _fast(tokenizer, names, longest, split_special_tokens=True)  # text that spells one is text
    return ExportedTokenizer(fast, vocabulary.rows, expects, longest, has_cls)


def _of_transformers(
    preparation: Preparation, dictionary, longest: int, has_cls: bool, path
) -> ExportedTokenizer:
    """The tokenizer of `transformers` that the training took its vocabulary from, with its own ids; those
    that the dictionary lacks are `<unk>`.
    """

    from tokenizers import Tokenizer, processors

    if any(name.endswith(LOWERCASE) for name in preparation.tokenizers.values()):
        raise refusal(path, "its text was put in lower case in front of a tokenizer of transformers")
    stored = preparation.subwords
    with tempfile.TemporaryDirectory() as folder:
        save_tokenizer(preparation, folder)
        tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    ids = stored.tokenizer_ids(dictionary)
    rows = np.full(max(tokenizer.get_vocab().values()) + 1, dictionary.unk())
    rows[ids[ids >= 0]] = np.flatnonzero(ids >= 0)
    roles = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
    special = {role: stored.special[symbol] for role, symbol in roles.items()}
    missing = [roles[role] for role in ("pad", "eos", *["bos"] * has_cls) if special[role] is None]
    if missing:
        raise refusal(path, f"its tokenizer has no token for {', '.join(missing)}")
    names = {role: tokenizer.id_to_token(number) for role, number in special.items() if number is not None}
    single = [*[names["bos"]] * has_cls, "$A", names["eos"]]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single,
        pair=[*single, "$B", names["eos"]],  # else nothing would be between two sentences
        special_tokens=[(names[role], special[role]) for role in ("bos", "eos") if role in names],
    )
    return ExportedTokenizer(_fast(tokenizer, names, longest), rows, "", longest, has_cls)


def _word_tokenizers(preparation: Preparation, pretokenized: bool, path) -> tuple[bool, str]:
    """Whether text comes in lower case, and what must have split it into words before."""
    names = set(preparation.tokenizers.values())
    lowercase = {name.endswith(LOWERCASE) for name in names}
    splitting = sorted({name.removesuffix(LOWERCASE) for name in names} - {"none"})
    if "raw" in splitting:
        raise refusal(
            path,
            "its text kept all of its spaces (data_prep tokenize --tokenizer raw), which no exported pipeline"
            " of sentencepiece does",
            "prepare data with data_prep tokenize --tokenizer none",
        )
    if len(lowercase) > 1:
        raise refusal(path, "only some of its languages are in lower case, and a tokenizer knows no language")
    if splitting and not pretokenized:
        raise refusal(
            path,
            f"its text was split into words by {', '.join(splitting)}, which no exported pipeline does",
            "give --pretokenized for a model that expects such words, or prepare data with data_prep tokenize"
            " --tokenizer none",
        )
    return lowercase.pop(), ", ".join(splitting)


@dataclass(frozen=True)
class Vocabulary:
    """Names and scores of all ids.

    Attributes:
        entries: (name, score) by id; a name that no text contains where fairseq's symbol is not to be found.
        rows: fairseq's id of every id.
        alphabet: characters of pieces.
    """

    entries: list[tuple[str, float]]
    rows: np.ndarray
    alphabet: frozenset[str]

    @classmethod
    def of(cls, model: PieceModel, dictionary) -> "Vocabulary":
        alphabet = frozenset().union(*model.pieces)
        special = {dictionary.bos(), dictionary.pad(), dictionary.eos(), dictionary.unk()}
        entries = []
        for number, symbol in enumerate(dictionary.symbols):
            if number not in special and symbol in model.pieces:
                entries.append((symbol, model.pieces[symbol]))
            else:
                entries.append((unwritable(symbol), 0.0))
        symbols = set(dictionary.symbols)
        others = [(piece, score) for piece, score in model.pieces.items() if piece not in symbols]
        rows = np.append(np.arange(len(entries)), np.full(len(others), dictionary.unk()))
        return cls(entries + others, rows, alphabet)


def unwritable(symbol: str) -> str:
    """A name for a symbol that must not be found in text: no token has a space in it."""
    return f"{symbol[:1]} {symbol[1:]}"


def normalizers_of_clean() -> list:
    """What `data_prep.normalization.normalize` does, as steps of `tokenizers`."""
    from tokenizers import Regex, normalizers

    return [normalizers.Replace(Regex(CONTROLS), ""), normalizers.NFC(), *_single_spaces()]


def _single_spaces() -> list:
    from tokenizers import Regex, normalizers

    return [normalizers.Replace(Regex(WHITESPACE), " "), normalizers.Strip()]


def save_tokenizer(preparation: Preparation, folder) -> None:
    """Write the tokenizer of `transformers` that the data is of; text that `clean` normalized is normalized
    by it, too, before it does what it does itself.
    """
    from tokenizers import Tokenizer, normalizers

    preparation.subwords.save_pretrained(folder)
    if preparation.normalized:
        path = f"{folder}/tokenizer.json"
        tokenizer = Tokenizer.from_file(path)
        own = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = normalizers.Sequence([*normalizers_of_clean(), *own])
        tokenizer.save(path)


def pipeline(model: PieceModel, vocabulary: Vocabulary, lowercase: bool, normalized: bool):
    """From raw text to ids, without what is put around a sentence.

    Args:
        normalized: text is normalized as `clean` does it.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    steps = normalizers_of_clean() if normalized else _single_spaces()
    if lowercase:  # a sigma at the end of a word, which Rust's function for one character cannot see
        steps += [normalizers.Replace(Regex(FINAL_SIGMA), "ς"), normalizers.Lowercase()]
    if model.character_map:
        steps.append(normalizers.Precompiled(model.character_map))
        if model.single_spaces:
            steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    unknown = f"[^{_in_brackets(vocabulary.alphabet | {' '})}]"
    steps.append(normalizers.Replace(Regex(f"{unknown}+"), NOTHING_KNOWS))
    if model.kind == UNIGRAM:
        tokenizer = Tokenizer(models.Unigram(vocabulary.entries, unk_id=3, byte_fallback=False))
    else:
        ids = {name: number for number, (name, _) in enumerate(vocabulary.entries)}
        unknown_name = vocabulary.entries[3][0]
        tokenizer = Tokenizer(
            models.BPE(ids, merges(model), unk_token=unknown_name, fuse_unk=True, ignore_merges=True)
        )
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(
                WORD_BEGINNING, prepend_scheme="always" if model.with_prefix else "never"
            ),
            pre_tokenizers.Split(Regex(f"{unknown}+"), behavior="isolated"),
        ]
    )
    return tokenizer


def merges(model: PieceModel) -> list[tuple[str, str]]:
    """All ways to make a piece of two others, the best piece first, as sentencepiece joins them."""
    scored = []
    for piece, score in model.pieces.items():
        for cut in range(1, len(piece)):
            parts = piece[:cut], piece[cut:]
            if all(part in model.pieces for part in parts):
                scored.append((-score, *parts))
    return [(left, right) for _, left, right in sorted(scored, key=lambda merge: merge[0])]


def _in_brackets(characters: frozenset[str]) -> str:
    return "".join(
        f"\\{character}" if character in r"\[]^-&" else character for character in sorted(characters)
    )


def _around(vocabulary: Vocabulary, dictionary, has_cls: bool):
    """`</s>` behind every sentence, and perhaps `<s>` in front of it."""
    from tokenizers import processors

    begin, end = (vocabulary.entries[number][0] for number in (dictionary.bos(), dictionary.eos()))
    single = [begin] * has_cls + ["$A", end]
    return processors.TemplateProcessing(
        single=single,
        pair=[*single, "$B", end],
        special_tokens=[(begin, dictionary.bos()), (end, dictionary.eos())],
    )


def _fast(tokenizer, names: dict[str, str], longest: int, **options):
    """The pipeline as transformers reads it; `names` are the special symbols by their roles."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=longest,
        padding_side="right",
        truncation_side="right",
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        **{f"{role}_token": name for role, name in names.items()},
        **options,
    )


def expected_ids(preparation: Preparation, dictionary, language: str, line: str, longest: int) -> list[int]:
    """The ids of a raw line as our training reads it, cut, with `</s>`; none of a line without words."""
    words = preparation.segment(language, line).split()[: longest - 1]
    return [*map(dictionary.index, words), dictionary.eos()] if words else []
