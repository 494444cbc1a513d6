"""Small causal language models with byte-level tokenizers, as BLOOM's, made from a text."""

from collections.abc import Iterable
from pathlib import Path


def write_bloom(
    folder: Path, lines: Iterable[str], vocabulary: int = 500, width: int = 32, layers: int = 2
) -> Path:
    """A BLOOM of random weights with a tokenizer that is learned from lines."""
    import torch
    from transformers import BloomConfig, BloomForCausalLM

    tokenizer = byte_level_tokenizer(lines, vocabulary)
    torch.manual_seed(1)
    config = BloomConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        n_layer=layers,
        n_head=4,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
    )
    BloomForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def byte_level_tokenizer(lines: Iterable[str], vocabulary: int):
    """As `BloomTokenizerFast` has it: byte pairs, the space in front of a word, four special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<unk>", "<s>", "</s>", "<pad>"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    names = dict(zip(("unk_token", "bos_token", "eos_token", "pad_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **names)
