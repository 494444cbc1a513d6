"""A tiny model in a folder as that of BLEURT-20, saved by its PyTorch port."""

from pathlib import Path

import sentencepiece
import torch
from bleurt_pytorch import BleurtConfig, BleurtForSequenceClassification

from tests.eval.conftest import TEXTS

SIZES = {
    "embedding_size": 8, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 32, "max_position_embeddings": 96,
}  # fmt: skip


def write_bleurt(folder: Path) -> Path:
    folder.mkdir()
    with open(folder / "spm.model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(line for lines in TEXTS.values() for line in lines),
            model_writer=file, vocab_size=90, pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, pad_piece="[PAD]",
            unk_piece="[UNK]", user_defined_symbols=["[CLS]", "[SEP]", "[MASK]"], minloglevel=2,
        )  # fmt: skip
    torch.manual_seed(3)
    port = BleurtForSequenceClassification(BleurtConfig(vocab_size=90, initializer_range=0.3, **SIZES))
    for weight in port.parameters():
        if weight.dim() == 1:  # biases and norms begin as 0 and 1
            torch.nn.init.normal_(weight, 0.4, 0.5)
    port.save_pretrained(folder)
    return folder
