"""A folder of `transformers` with an encoder that was trained from such a folder (`--pretrained-encoder`).

The folder gives the states of tokens; how they become a vector is said in its model card. Parameters above
them have no place in it.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from command_line.outputs import write_json
from command_line.records import read_json
from data_prep.formats.preparation import Preparation
from fairseq_ext.export.encoder_graph import count_of, refusal
from fairseq_ext.export.job import ExportJob
from fairseq_ext.export.model_card import Card, parameters_of
from fairseq_ext.export.tokenizer import ExportedTokenizer, exported_tokenizer, save_tokenizer
from fairseq_ext.inference import LoadedModel
from fairseq_ext.models.pretrained_configuration import sizes_of

NAME = "transformers"
LEAST = {"float32": 0.9999}  # precision: cosine with the checkpoint's vector
POOLED = {  # in the code of the model card
    "mean": "(states * mask).sum(dim=1) / mask.sum(dim=1)",
    "sum": "(states * mask).sum(dim=1)",
    "max": "states.masked_fill(mask == 0, float('-inf')).amax(dim=1)",
    "cls": "states[:, 0]",
}
CODE = """from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("PATH OF THIS FOLDER")
model = AutoModel.from_pretrained("PATH OF THIS FOLDER")
batch = tokenizer(["A sentence.", "Ein Satz."], padding=True, truncation=True, return_tensors="pt")
layers = model(**batch, output_hidden_states=True).hidden_states
states, mask = {states}, batch["attention_mask"].unsqueeze(2)
vectors = {pooled}"""


def is_pretrained(loaded: LoadedModel) -> bool:
    """Is the encoder one of `transformers`?"""
    return bool(getattr(loaded.state["cfg"]["model"], "token_encoder", ""))


def check_encoder(loaded: LoadedModel, path) -> None:
    """Refuse an encoder whose vectors need more than the states of its tokens."""
    if not is_pretrained(loaded):
        raise refusal(
            path,
            f"--to {NAME}: its layers are our own",
            "choose --to sentence-transformers, whose folders transformers reads as well",
        )
    encoder = loaded.model.encoder
    learned = encoder.layer_weights is not None and encoder.layer_weights.requires_grad
    above = ["--pooling-layer mix"] * learned + list(encoder.above_tokens)
    above += ["--pooling-without-eos"] * bool(len(encoder.left_out))
    if above:
        raise refusal(path, f"{above[0]}: a folder of {NAME} has states of tokens, and nothing above them")


def write_pretrained(
    job: ExportJob, loaded: LoadedModel, preparation: Preparation, folder: Path
) -> tuple[ExportedTokenizer, "EncoderCard"]:
    """Write weights and tokenizer.

    Returns:
        the tokenizer as the folder has it, and the model card.
    """
    check_encoder(loaded, job.checkpoint)
    card = EncoderCard(job.checkpoint, loaded, preparation, None, "", NAME)
    return write_states(card, folder), card


def write_states(card: "PretrainedCard", folder: Path) -> ExportedTokenizer:
    """Write what gives the states of tokens: weights and tokenizer, as the folder has it."""
    from transformers import AutoTokenizer

    loaded, preparation = card.loaded, card.preparation
    loaded.model.encoder.save_pretrained(folder, preparation.subwords)
    save_tokenizer(preparation, folder)  # over the encoder's, which knows nothing of the text
    cut_at(card.longest, folder)
    expected = exported_tokenizer(
        preparation, loaded.task.dictionary, card.longest, True, False, card.checkpoint
    )
    stored = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return dataclasses.replace(expected, tokenizer=stored)


def cut_at(longest: int, folder: Path) -> None:
    """Let the tokenizer of a folder cut text as the training did, where it is asked for no other length."""
    path = folder / "tokenizer_config.json"
    write_json(path, read_json(path) | {"model_max_length": longest})


def encoder_of(
    folder: Path, tokenizer: ExportedTokenizer, loaded: LoadedModel
) -> Callable[[list[str]], np.ndarray]:
    """A function from sentences to vectors, by the library alone, pooled as the checkpoint pools."""
    from transformers import AutoModel

    encoder = loaded.model.encoder
    model = AutoModel.from_pretrained(folder, local_files_only=True, trust_remote_code=False).eval()

    @torch.inference_mode()
    def encode(sentences: list[str]) -> np.ndarray:
        batch = tokenizer.tokenizer(sentences, truncation=True, padding=True, return_tensors="pt")
        layers = model(**batch, output_hidden_states=True).hidden_states
        states = sum(layers) / len(layers) if encoder.layer is None else layers[encoder.layer]
        return encoder.kind.apply(states.transpose(0, 1), batch["attention_mask"] == 0).float().numpy()

    return encode


class PretrainedCard(Card):
    """The model card of an encoder that was trained from such a folder."""

    @property
    def longest(self) -> int:
        return min(self.loaded.task.max_positions()[0], self.loaded.model.encoder.max_positions()) + 1

    @property
    def width(self) -> int:
        return self.loaded.model.encoder.sentence_width

    def _facts(self) -> dict:
        config = self.loaded.model.encoder.model.config
        return {
            "kind": config.model_type,
            "layers": config.num_hidden_layers,
            "width of states": config.hidden_size,
            "attention heads": config.num_attention_heads,
            "width of feed-forward networks": sizes_of(config)["encoder_ffn_embed_dim"],
            "vocabulary": f"{config.vocab_size:,}",
            **parameters_of(count_of(self.loaded.model.encoder), config.vocab_size * config.hidden_size),
        }


class EncoderCard(PretrainedCard):
    """That of a folder of `transformers`, whose code pools."""

    @property
    def code(self) -> str:
        encoder = self.loaded.model.encoder
        states = "sum(layers) / len(layers)" if encoder.layer is None else f"layers[{encoder.layer}]"
        return CODE.format(states=states, pooled=POOLED[str(self.loaded.state["cfg"]["model"].pooling)])
