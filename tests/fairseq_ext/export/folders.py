"""A binarized folder of raw text split by sentencepiece, and sentence encoders of it with random weights."""

import io
from collections import Counter
from pathlib import Path

import sentencepiece

from command_line.outputs import checksum
from data_prep.formats.dictionary import dictionary_lines, write_dictionary
from data_prep.formats.preparation import Preparation
from data_prep.subword_models import SentencePieces
from tests.embeddings.encoders.folders import TEXT
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save

GREEK = ["Ο καιρός είναι καλός σήμερα.", "ΔΥΟ ΠΑΙΔΙΑ παίζουν ποδόσφαιρο, και ο ΟΔΟΣ.", "Ναι", "όχι"]
LANGUAGES = {"de": TEXT, "el": GREEK, "en": TEXT[::-1]}
UNKNOWN = ["☃ snow", "snow ☃☼ and ☼", "no ☼☃☃", "☃☃"]  # runs of characters that are in no piece
# what a reader can do wrong: spaces, special symbols as text, runs of unknown characters, upper case
HARD = [
    "  two  spaces\u00a0and\u3000others\t", "<s> </s> <pad> <unk>", "< s>", "snow☃", "☃☃☃", "☼☃", "☃☼ ☃ ☼☼☃",
    "ΟΔΟΣ ΣΑΣ Σ. ΣΤΟ", "Το Δ.Σ. και ο Ο.Σ.Ε., ΑΣ'ΤΟ 日Σ",
    "madeupword0000", "⛄", "the-end☃.", "İstanbul ÄÖÜ ß", "\x1cx\x85y",
]  # fmt: skip


def write_data(
    folder: Path, kind: str = "unigram", tokenizer: str = "none", rule: str = "identity", prefix: bool = True
) -> Path:
    """DATA of `kind` of sentencepiece; languages have one tokenizer.

    Args:
        rule: by which sentencepiece normalizes.
        prefix: a space is put in front of a line.
    """
    (folder / "text").mkdir(parents=True)
    lower = tokenizer.endswith("+lowercase")
    training = [line.lower() if lower else line for text in LANGUAGES.values() for line in text]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training * 3), model_writer=model, vocab_size=110, model_type=kind,
        normalization_rule_name=rule, add_dummy_prefix=prefix, hard_vocab_limit=False, minloglevel=2,
        character_coverage=1.0,
    )  # fmt: skip
    (folder / "subword.model").write_bytes(model.getvalue())
    pieces = SentencePieces(folder / "subword.model")
    counts = Counter(piece for line in training for piece in pieces.segment(line).split())
    for piece in sorted(counts)[:4]:
        del counts[piece]  # as --min-count does
    for language, text in LANGUAGES.items():
        write_dictionary(folder / f"dict.{language}.txt", dictionary_lines(counts))
        for other in LANGUAGES:
            if language != other:
                pair = "-".join(sorted((language, other)))
                (folder / "text" / f"valid.{pair}.{language}").write_text("\n".join([*text, *HARD]) + "\n")
    pairs = {"valid": {"de-el": len(TEXT), "de-en": len(TEXT), "el-en": len(GREEK)}, "train": {"de-en": 8}}
    Preparation(
        folder=folder,
        languages=sorted(LANGUAGES),
        tokenizers=dict.fromkeys(LANGUAGES, tokenizer),
        subword={"type": "sentencepiece", "model": "subword.model"},
        pairs=pairs,
        dictionary_sha256=checksum(folder / "dict.de.txt"),
    ).save()
    return folder


def write_encoder(path: Path, data: Path, **options) -> Path:
    """A checkpoint of a sentence encoder of two layers."""
    options = {"encoder_layers": 2, "decoder_layers": 0, **options}
    state = checkpoint_state(data, "sentence_encoder", **options)
    state["cfg"]["task"] |= {"_name": "sentence_embedding", "max_source_positions": 40}
    state["task_state"] |= {"language_tags": "none", "lang_pairs": ["de-en"]}
    for name, value in state["model"].items():  # norms, biases and mixtures that do something
        if name.endswith(("bias", "norm.weight", "layer_weights")):
            value += 0.1 * value.new_tensor(range(value.numel())).sin().view_as(value)
    return Path(save(path, state))
