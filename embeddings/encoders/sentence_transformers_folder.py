"""Encoders of `sentence-transformers` (LaBSE, multilingual E5, …), in a local folder."""

from collections.abc import Sequence

import torch

from command_line.errors import InputError
from command_line.provenance import versions
from data_prep.model_folders.identity import files_of
from data_prep.model_folders.libraries import as_one_line
from data_prep.model_folders.loading import load_modules, prompt_of
from data_prep.model_folders.modules import KIND
from embeddings.encoders.arithmetic import autocast, for_inference
from embeddings.encoders.huggingface import padded, special_ids, token_ids
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import TokenEncoder
from embeddings.encoders.sizes import size_of_modules
from fairseq_ext.models.pretrained_weights import longest_of

SAMPLE = ["A sentence."]
UNLIMITED = 1 << 20  # tokens of a model that says no limit


class SentenceTransformersEncoder(TokenEncoder):
    """A model of the library sentence-transformers, which says itself how it makes vectors."""

    def __init__(self, model, options: EncoderOptions):
        super().__init__(options.batch_tokens)
        self.options = options
        self.name = options.model.resolve().name
        self.device = options.device()
        self.width = model.get_embedding_dimension()
        self.longest = model.max_seq_length or UNLIMITED
        self.tokenizer = model.tokenizer
        self.prefix = prompt_of(model) if options.prefix is None else options.prefix
        self.size = size_of_modules(model)
        self.model = for_inference(model, options.precision, self.device)
        self.unpooled = self._unpooled_tokens()

    @classmethod
    def load(cls, options: EncoderOptions) -> "SentenceTransformersEncoder":
        """The model in the folder `options.model`."""
        model = load_modules(options.model)
        positions = longest_of(model[0].model)
        if model.max_seq_length is not None and model.max_seq_length > positions:
            raise InputError(
                f"--model {options.model}: its max_seq_length is {model.max_seq_length}, but its model has"
                f" positions for {positions} tokens; expected no more"
            )
        encoder = cls(model, options)
        with as_one_line(f"--model {options.model}", KIND):
            encoder.try_out(token_ids(encoder.tokenizer, SAMPLE, encoder.longest)[0])
        return encoder

    def _unpooled_tokens(self) -> int:
        """Tokens of the prefix that the model's pooling leaves out (INSTRUCTOR and its like)."""
        skip = any(getattr(module, "include_prompt", True) is False for module in self.model)
        if not self.prefix or not skip:
            return 0
        with_end = token_ids(self.tokenizer, [self.prefix], self.longest)[0]
        return len(with_end) - (with_end[-1] in special_ids(self.tokenizer))

    def tokens(self, sentences: Sequence[str], language: str | None) -> list[list[int]]:
        return token_ids(self.tokenizer, [self.prefix + line for line in sentences], self.longest)

    def run(self, batch: list[list[int]]):
        """What the model reads, and its output."""
        features = padded(self.tokenizer, batch, self.device)
        given = {name: each.clone() for name, each in features.items()}  # a pooling hides the prompt in place
        if self.unpooled:
            given["prompt_length"] = self.unpooled
        with autocast(self.options.precision, self.device):
            return features, self.model(given)

    def vectors(self, output):
        return output[1]["sentence_embedding"]

    def states(self, output):
        features, output = output
        special = torch.tensor(special_ids(self.tokenizer), device=self.device)
        padding = features["attention_mask"] == 0
        return output["token_embeddings"].float(), padding, torch.isin(features["input_ids"], special)

    def record(self) -> dict:
        return {
            "name": self.name,
            "kind": KIND,
            "model": str(self.options.model),
            "width": self.width,
            "weights": files_of(self.options.model),
            "prefix": self.prefix or None,
            "precision": self.options.precision,
            "versions": versions("transformers", "sentence-transformers"),
        }
