"""Tiny encoders of other libraries, made here with random weights."""

from pathlib import Path

TEXT = [
    "The weather is nice today.", "Two children are playing football in the park, and one is watching.",
    "Das Wetter ist heute sehr schön.", "Zwei Kinder spielen Fußball.", "I would like to buy a bicycle.",
    "Yes", "no", "Ich möchte gerne ein neues Fahrrad kaufen, aber nicht heute.",
]  # fmt: skip
POSITIONS = 24


def tokenizer():
    """Of characters and a few words, as BERT's."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    characters = sorted({character for line in TEXT for character in line.lower() if character != " "})
    symbols = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *characters, *(f"##{each}" for each in characters), "the"]
    vocabulary = {symbol: number for number, symbol in enumerate(dict.fromkeys(symbols))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(strip_accents=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=POSITIONS, pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", unk_token="[UNK]",
    )  # fmt: skip


def write_transformers(folder: Path, seed: int = 1, **options) -> Path:
    """A BERT of two layers, of width 32."""
    import torch
    from transformers import BertConfig, BertModel

    symbols = tokenizer()
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(symbols), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=POSITIONS,
    )  # fmt: skip
    BertModel(config).eval().save_pretrained(folder, **options)
    symbols.save_pretrained(folder)
    return folder


def write_sentence_transformers(folder: Path, pooling: str = "mean", dense: int | None = None) -> Path:
    """The same, with a pooling, perhaps a dense layer on top, and vectors of length 1."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

    write_transformers(folder / "transformers")
    torch.manual_seed(2)
    modules = [Transformer(str(folder / "transformers")), Pooling(32, pooling_mode=pooling)]
    if dense:
        modules += [Dense(32, dense), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "whole"))
    return folder / "whole"
