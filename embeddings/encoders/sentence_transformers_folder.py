"""Encoders of `sentence-transformers` (LaBSE, multilingual E5, …), in a local folder."""

from collections.abc import Sequence

from command_line.errors import InputError
from command_line.provenance import versions
from command_line.records import Optional, check, read_json
from data_prep.huggingface import check_folder, files_of, reading
from embeddings.encoders.arithmetic import autocast, for_inference
from embeddings.encoders.huggingface import padded, special_ids, token_ids
from embeddings.encoders.options import SENTENCE_TRANSFORMERS, EncoderOptions
from embeddings.encoders.sentence_encoder import TokenEncoder
from embeddings.encoders.sizes import size_of_modules

UNLIMITED = 1 << 20  # tokens of a model that says no limit
MODULES = (  # that a text encoder consists of; any other class of a folder is code of a stranger's choice
    "Transformer",
    "Pooling",
    "Dense",
    "Normalize",
    "LayerNorm",
    "Dropout",
    "WeightedLayerPooling",
)
ACTIVATIONS = ("torch.nn.modules.activation.", "torch.nn.modules.linear.Identity")


class SentenceTransformersEncoder(TokenEncoder):
    """A model of the library sentence-transformers, which says itself how it makes vectors.

    Args:
        model: a `SentenceTransformer`.
    """

    def __init__(self, model, options: EncoderOptions):
        super().__init__(options.batch_tokens)
        self.options = options
        self.name = options.model.resolve().name
        self.device = options.device()
        self.width = model.get_embedding_dimension()
        self.longest = model.max_seq_length or UNLIMITED
        self.tokenizer = model.tokenizer
        prompt = model.prompts.get(model.default_prompt_name or "") or ""
        self.prefix = prompt if options.prefix is None else options.prefix
        self.size = size_of_modules(model)
        self.model = for_inference(model, options.precision, self.device)
        self.unpooled = self._unpooled_tokens()

    @classmethod
    def load(cls, options: EncoderOptions) -> "SentenceTransformersEncoder":
        """The model in the folder `options.model`.

        Raises:
            InputError: no such folder, no model of sentence-transformers, pickled weights, code of its own.
        """
        check_folder(options.model)
        check_modules(options.model)
        with reading(options.model, SENTENCE_TRANSFORMERS):
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(
                str(options.model),
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
            if not hasattr(model.tokenizer, "pad"):
                raise ValueError("it has no tokenizer of text")
        return cls(model, options)

    def _unpooled_tokens(self) -> int:
        """Tokens of the prefix that the model's pooling leaves out (INSTRUCTOR and its like)."""
        skip = any(getattr(module, "include_prompt", True) is False for module in self.model)
        if not self.prefix or not skip:
            return 0
        with_end = token_ids(self.tokenizer, [self.prefix], self.longest)[0]
        return len(with_end) - (with_end[-1] in special_ids(self.tokenizer))

    def tokens(self, sentences: Sequence[str], language: str | None) -> list[list[int]]:
        return token_ids(self.tokenizer, [self.prefix + line for line in sentences], self.longest)

    def vectors(self, batch: list[list[int]]):
        features = padded(self.tokenizer, batch, self.device)
        if self.unpooled:
            features["prompt_length"] = self.unpooled
        with autocast(self.options.precision, self.device):
            return self.model(features)["sentence_embedding"]

    def states(self, batch: list[list[int]]):
        import torch

        features = padded(self.tokenizer, batch, self.device)
        with autocast(self.options.precision, self.device):
            states = self.model(dict(features))["token_embeddings"].float()
        special = torch.tensor(special_ids(self.tokenizer), device=self.device)
        return states, features["attention_mask"] == 0, torch.isin(features["input_ids"], special)

    def record(self) -> dict:
        return {
            "name": self.name,
            "kind": SENTENCE_TRANSFORMERS,
            "model": str(self.options.model),
            "width": self.width,
            "weights": files_of(self.options.model),
            "prefix": self.prefix or None,
            "precision": self.options.precision,
            "versions": versions("transformers", "sentence-transformers"),
        }


def check_modules(folder) -> None:
    """The library imports whatever class the folder names, also from Python files in it.

    Raises:
        InputError: the folder names one that is not among MODULES and ACTIVATIONS, or its list is damaged.
    """
    path = folder / "modules.json"
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a model of sentence-transformers")
    modules = read_json(path)
    check(modules, [{"type": str, "path": str}], path)
    for module in modules:
        name = module["type"]
        if not name.startswith("sentence_transformers.") or name.rpartition(".")[2] not in MODULES:
            raise InputError(f"{path}: a module of type {name!r:.80}, expected only {', '.join(MODULES)}")
        config = folder / module["path"] / "config.json"
        if module["path"] and config.is_file():
            content = read_json(config)
            check(content, {"activation_function": Optional(str)}, config)
            activation = content.get("activation_function")
            if activation is not None and not activation.startswith(ACTIVATIONS):
                raise InputError(
                    f"{config}: activation_function {activation!r:.80}, expected one of torch.nn"
                )
