"""Models of `transformers` without what we have ourselves: the words' embeddings and the pooling."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from command_line.errors import InputError
from data_prep.model_folders.libraries import reading
from data_prep.model_folders.loading import check_complete, load_configuration, load_model
from data_prep.model_folders.models import KIND
from fairseq_ext.models.pretrained_configuration import OPTION


def from_config(config):
    """A model with weights drawn by chance, and hardly any embeddings, which are ours."""
    from transformers import AutoModel

    symbols, config.vocab_size = config.vocab_size, (config.pad_token_id or 0) + 1
    with reading(Path(config.model_type), KIND, "configuration"):
        model = AutoModel.from_config(config, trust_remote_code=False)
        width = model.get_input_embeddings().weight.shape[1]
    if width != config.hidden_size:
        raise InputError(
            f"{OPTION}: an encoder of the kind {config.model_type} with embeddings of width {width} below"
            f" layers of width {config.hidden_size}; expected one width"
        )
    model.config.vocab_size = symbols
    return model


def without_words(model):
    """The model without what we have ourselves: embeddings of words, and a pooler."""
    model.set_input_embeddings(nn.Identity())
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


@torch.no_grad()
def states_of_tokens(model, **tokens) -> Tensor:
    """The states of one sentence without padding, 1 x T x C, without dropout."""
    was_training = model.training
    (given,) = tokens.values()
    output = model.eval()(**tokens, attention_mask=torch.ones(given.shape[:2], dtype=torch.long))
    model.train(was_training)
    return output.last_hidden_state


def load_encoder(folder: Path, with_pooler: bool):
    """The model of a folder.

    Raises:
        InputError: its files lack weights.
    """
    model, notes = load_model(folder, OPTION)
    check_complete(folder, notes["missing_keys"], with_pooler, OPTION)
    return model


@dataclass(frozen=True)
class WordHead:
    """What a masked language model has between its encoder and its embeddings: h = norm(gelu(dense(x))) is
    multiplied by the embeddings, and the bias added.
    """

    dense: nn.Linear
    norm: nn.LayerNorm
    bias: Tensor  # of the tokenizer's ids


def load_word_head(folder: Path) -> WordHead | None:
    """That of a folder; None if its files have the encoder alone, or a head of another make."""
    if type(load_configuration(folder, OPTION)) not in _kinds_with_word_heads():
        return None
    model, notes = load_model(folder, OPTION, class_name="AutoModelForMaskedLM")
    config, decoder = model.config, model.get_output_embeddings()
    inside = set(model.base_model.modules())
    above = {name: part for name, part in model.named_modules() if part not in inside and part is not decoder}
    dense = {name: part for name, part in above.items() if isinstance(part, nn.Linear)}
    norms = {name: part for name, part in above.items() if isinstance(part, nn.LayerNorm)}
    activation = getattr(config, "hidden_act", getattr(config, "activation", None))
    is_missing = any(key.startswith((*dense, *norms)) for key in notes["missing_keys"])
    if len(dense) != 1 or len(norms) != 1 or activation != "gelu" or is_missing or decoder.bias is None:
        return None
    return WordHead(*dense.values(), *norms.values(), decoder.bias.detach())


def _kinds_with_word_heads():
    from transformers import MODEL_FOR_MASKED_LM_MAPPING

    return MODEL_FOR_MASKED_LM_MAPPING


def longest_of(model) -> int:
    """Tokens that a model has positions for; RoBERTa and its like count from behind the padding symbol's.
    What learns none (T5; XLNet, which says -1) reads any number.
    """
    embeddings = getattr(model, "embeddings", None)
    with_offset = hasattr(embeddings, "create_position_ids_from_inputs_embeds")
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions is None or positions < 1:
        return 1 << 20
    return positions - (embeddings.padding_idx + 1 if with_offset else 0)
