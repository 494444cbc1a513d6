"""Encoders of `transformers`, in a local folder of `save_pretrained`, with a pooling of the user's choice."""

from collections.abc import Sequence
from pathlib import Path

from command_line.errors import InputError
from command_line.numbers import natural
from command_line.provenance import versions
from data_prep.model_folders.identity import files_of
from data_prep.model_folders.libraries import as_one_line
from data_prep.model_folders.loading import check_complete, check_ids, load_model, load_tokenizer
from embeddings.encoders.arithmetic import autocast, for_inference
from embeddings.encoders.huggingface import padded, source_code, source_codes, special_ids, token_ids
from embeddings.encoders.options import AVERAGE, TRANSFORMERS, EncoderOptions
from embeddings.encoders.sentence_encoder import TokenEncoder
from embeddings.encoders.sizes import size_of_transformers

SAMPLE = ["A sentence."]


class TransformersEncoder(TokenEncoder):
    """A model of the library transformers, whose last states are pooled.

    Args:
        model: an encoder of `transformers`, or the encoder of an encoder-decoder.
        options: pooling "mean" (over all tokens that are no padding), "cls" (the first token's state) or
            "pooler" (the model's own output of it).
    """

    def __init__(self, model, tokenizer, options: EncoderOptions):
        from fairseq_ext.models.pretrained_weights import longest_of

        super().__init__(options.batch_tokens)
        self.options = options
        self.name = options.model.resolve().name
        self.pooling = options.pooling or "mean"
        self.layer = layer_of(options, model.config)
        if self.layer is not None:
            self.name += f" ({'average of layers' if self.layer == AVERAGE else f'layer {self.layer}'})"
        self.device = options.device()
        self.width = model.config.hidden_size
        self.longest = min(tokenizer.model_max_length, longest_of(model))
        self.size = size_of_transformers(model, None if self.layer == AVERAGE else self.layer)
        self.model, self.tokenizer = for_inference(model, options.precision, self.device), tokenizer
        self.codes = source_codes(tokenizer)

    @classmethod
    def load(cls, options: EncoderOptions) -> "TransformersEncoder":
        """The model in the folder `options.model`."""
        if options.pooling == "words":
            raise InputError("--pooling words: found a folder of transformers, expected mean, cls or pooler")
        model, notes = load_model(options.model)
        tokenizer = load_tokenizer(options.model)
        check_ids(tokenizer, model, options.model)
        check_complete(options.model, notes["missing_keys"], options.pooling == "pooler")
        if model.config.is_encoder_decoder:
            model = model.get_encoder()
        if options.pooling == "pooler" and getattr(model, "pooler", None) is None:
            raise InputError(f"--pooling pooler: {options.model} has no pooler; choose mean or cls")
        with as_one_line(f"--model {options.model}", TRANSFORMERS):
            encoder = cls(model, tokenizer, options)
            encoder.try_out(token_ids(tokenizer, SAMPLE, encoder.longest)[0])
        return encoder

    def tokens(self, sentences: Sequence[str], language: str | None) -> list[list[int]]:
        if self.codes:  # else all languages would be read as the tokenizer's first one, English
            self.tokenizer.src_lang = source_code(self.codes, language, f"--model {self.options.model}")
        prefix = self.options.prefix or ""
        return token_ids(self.tokenizer, [prefix + line for line in sentences], self.longest)

    def vectors(self, output):
        features, output = output
        if self.pooling == "pooler":
            return output.pooler_output
        states, mask = self._of_layer(output), features["attention_mask"]
        if self.pooling == "cls":
            return states[torch_rows(states), mask.argmax(dim=1)]
        return (states * mask.unsqueeze(2)).sum(dim=1) / mask.sum(dim=1, keepdim=True)

    def states(self, output):
        import torch

        features, output = output
        special = torch.tensor(special_ids(self.tokenizer), device=self.device)
        padding = features["attention_mask"] == 0
        return self._of_layer(output), padding, torch.isin(features["input_ids"], special)

    def run(self, batch: list[list[int]]):
        """What the model reads, and its output."""
        features = padded(self.tokenizer, batch, self.device)
        with autocast(self.options.precision, self.device):
            return features, self.model(**features, output_hidden_states=self.layer is not None)

    def _of_layer(self, output):
        """B x T x C, of the layer that was chosen."""
        if self.layer is None:
            return output.last_hidden_state.float()
        if self.layer == AVERAGE:
            return sum(states.float() for states in output.hidden_states) / len(output.hidden_states)
        return output.hidden_states[self.layer].float()

    def record(self) -> dict:
        return {
            "name": self.name,
            "kind": TRANSFORMERS,
            "model": str(self.options.model),
            "width": self.width,
            "weights": files_of(Path(self.options.model)),
            "pooling": self.pooling,
            **({} if self.layer is None else {"layer": self.layer}),
            "prefix": self.options.prefix,
            "precision": self.options.precision,
            "versions": versions("transformers"),
        }


def layer_of(options: EncoderOptions, config) -> int | str | None:
    """Whose states are read, 0 for the embeddings; AVERAGE; None for the model's output."""
    if options.layer is None:
        return None
    if options.pooling == "pooler":
        raise InputError(f"--layer {options.layer}: --pooling pooler reads the last one; leave the layer out")
    most = config.num_hidden_layers
    if options.layer == AVERAGE:
        return AVERAGE
    number = natural(options.layer)
    if number is None or number > most:
        raise InputError(f"--layer {options.layer}: expected a number from 0 to {most}, or {AVERAGE}")
    return number


def torch_rows(states):
    import torch

    return torch.arange(len(states), device=states.device)
