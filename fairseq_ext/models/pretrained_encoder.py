"""Encoders of `transformers` (XLM-R, mBERT, LaBSE, …) in place of our own layers: `--pretrained-encoder`.

A checkpoint holds the configuration of the encoder and the checksum of its tokenizer, so that the folder is
needed when a training starts and never again.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from fairseq import utils
from fairseq.models import FairseqEncoder
from torch import Tensor, nn

from command_line.errors import InputError
from data_prep.formats.preparation import Preparation
from data_prep.huggingface import check_complete, reading
from data_prep.transformers_tokenizer import KIND, TransformersTokenizer, store_tokenizer
from fairseq_ext.models.pretrained_configuration import OPTION, SIZES, config_of, read_config


class TransformersTokens(FairseqEncoder):
    """The token states of an encoder of `transformers`, over fairseq's token ids.

    Row i of the embeddings is the row of the tokenizer's id that symbol i of the dictionary stands for.

    Args:
        cfg: with `token_encoder`.
        embed_tokens: as large as the dictionary.

    Attributes:
        started_from: the file of the weights that a training began with; None until there is one.
    """

    def __init__(self, cfg, dictionary, embed_tokens: nn.Embedding):
        super().__init__(dictionary)
        config = config_of(cfg.token_encoder)
        self.embed_tokens, self.padding_idx = embed_tokens, embed_tokens.padding_idx
        self.layer_norm = None  # the layers' own
        self.started_from: Path | None = None
        self.model = _without_words(_from_config(config))
        self.longest = longest_of(self.model)
        if cfg.checkpoint_activations:
            self.model.gradient_checkpointing_enable({"use_reentrant": False})

    def start_from(self, folder: Path, tokenizer: TransformersTokenizer) -> None:
        """Take the weights of a folder.

        Raises:
            InputError: its files lack weights, or embeddings of some ids of its tokenizer.
        """
        takes_pooler = self.kind.is_dense and self.pooled_width == self.model.config.hidden_size
        loaded = load_encoder(folder, takes_pooler)
        ids = torch.from_numpy(tokenizer.tokenizer_ids(self.dictionary))
        rows = loaded.get_input_embeddings().weight.detach()
        if int(ids.max()) >= len(rows):
            raise InputError(
                f"{OPTION} {folder}: its tokenizer has the id {int(ids.max())}, its embeddings end before"
                f" {len(rows)}; expected a model with its own tokenizer"
            )
        unknown = rows[ids[self.dictionary.unk()].clamp(min=0)]
        with torch.no_grad():
            self.embed_tokens.weight.copy_(torch.where(ids.unsqueeze(1) < 0, unknown, rows[ids.clamp(min=0)]))
        if takes_pooler:
            self.pooler.load_state_dict(loaded.pooler.dense.state_dict())
        self.model.load_state_dict(_without_words(loaded).state_dict())
        self.started_from = min(folder.glob("*.safetensors"))

    @property
    def layers(self):
        """The layers, the lowest first."""
        count = self.model.config.num_hidden_layers
        stacks = (each for each in self.model.modules() if isinstance(each, nn.ModuleList))
        return next((stack for stack in stacks if len(stack) == count), nn.ModuleList())

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: Tensor | None = None,
    ) -> dict:
        """As fairseq's encoders: "encoder_out", T x B x C, "encoder_padding_mask", B x T, and
        "encoder_states", of the embeddings and of every layer.
        """
        padding = src_tokens.eq(self.padding_idx)
        output = self.model(
            inputs_embeds=self.embed_tokens(src_tokens) if token_embeddings is None else token_embeddings,
            attention_mask=(~padding).long(),
            output_hidden_states=return_all_hiddens,
        )
        states = output.hidden_states if return_all_hiddens else ()
        return {
            "encoder_out": [output.last_hidden_state.transpose(0, 1)],
            "encoder_padding_mask": [padding],
            "encoder_embedding": [],
            "encoder_states": [one.transpose(0, 1) for one in states],
            "src_tokens": [],
            "src_lengths": [],
        }

    def max_positions(self) -> int:
        return self.longest

    def save_pretrained(self, folder: Path, tokenizer: TransformersTokenizer) -> None:
        """Write the encoder and its tokenizer as a folder of `transformers`.

        An id of the tokenizer that the dictionary lacks has the embedding of the unknown word, as which the
        encoder has read it in training.
        """
        ids = torch.from_numpy(tokenizer.tokenizer_ids(self.dictionary))
        weight = self.embed_tokens.weight.detach()
        rows = weight[self.dictionary.unk()].repeat(self.model.config.vocab_size, 1)
        rows[ids[ids >= 0]] = weight[ids >= 0]
        words = self.model.get_input_embeddings()
        self.model.set_input_embeddings(nn.Embedding.from_pretrained(rows))
        try:
            self.model.save_pretrained(folder, safe_serialization=True)
        finally:
            self.model.set_input_embeddings(words)
        tokenizer.save_pretrained(folder)


def adopt(args, task) -> TransformersTokenizer:
    """Settle what follows from `--pretrained-encoder`, or from a checkpoint's configuration: configuration,
    checksum and sizes. Returns the tokenizer of the data.

    Raises:
        InputError: the folder has no encoder, or its tokenizer is not that of the data; a checkpoint's
            configuration is none, or the data is of another tokenizer.
    """
    folder, data = getattr(args, "pretrained_encoder", None), utils.split_paths(task.cfg.data)[0]
    if folder:
        args.token_encoder = read_config(Path(folder))
        tokenizer = data_tokenizer(data, Path(folder))
        args.token_encoder_checksum = tokenizer.checksum
    else:
        tokenizer = data_tokenizer(data)
        if args.token_encoder_checksum != tokenizer.checksum:
            raise InputError(
                f"{data}: its tokenizer is not that of the checkpoint; use the folder of its training"
            )
    config = config_of(args.token_encoder)
    for name, option in SIZES.items():
        if not folder and getattr(args, option) != getattr(config, name):
            raise InputError(
                f"option token_encoder has {name} {getattr(config, name)}, option {option} is"
                f" {getattr(args, option)}; expected the same"
            )
        setattr(args, option, getattr(config, name))
    if getattr(config, "embedding_size", config.hidden_size) != config.hidden_size:
        raise InputError(
            f"{OPTION} {folder}: its embeddings are narrower than its layers; expected one width"
        )
    args.decoder_embed_dim = args.encoder_embed_dim
    if not args.decoder_layers:
        args.decoder_ffn_embed_dim = args.encoder_ffn_embed_dim
    return tokenizer


def _from_config(config):
    """A model with weights drawn by chance, and hardly any embeddings, which are ours."""
    from transformers import AutoModel

    symbols, config.vocab_size = config.vocab_size, (config.pad_token_id or 0) + 1
    with reading(Path(config.model_type), KIND, "configuration"):
        model = AutoModel.from_config(config, trust_remote_code=False)
    model.config.vocab_size = symbols
    return model


def _without_words(model):
    """The model without what we have ourselves: embeddings of words, and a pooler."""
    model.set_input_embeddings(nn.Identity())
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def load_encoder(folder: Path, with_pooler: bool):
    """The model of a folder.

    Raises:
        InputError: its files lack weights.
    """
    with reading(folder, KIND, OPTION):
        from transformers import AutoModel

        model, notes = AutoModel.from_pretrained(
            folder,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    check_complete(folder, notes["missing_keys"], with_pooler, OPTION)
    return model


def longest_of(model) -> int:
    """Tokens that a model has positions for; RoBERTa and its like count from behind the padding symbol's."""
    embeddings = getattr(model, "embeddings", None)
    with_offset = hasattr(embeddings, "create_position_ids_from_inputs_embeds")
    positions = getattr(model.config, "max_position_embeddings", None) or 1 << 20
    return positions - (embeddings.padding_idx + 1 if with_offset else 0)


def data_tokenizer(data: str, folder: Path | None = None) -> TransformersTokenizer:
    """The tokenizer of a binarized folder.

    Args:
        folder: of the encoder, whose tokenizer it must be.

    Raises:
        InputError: the data is of no tokenizer of `transformers`, or of another one.
    """
    tokenizer = Preparation.load(data).subwords
    expected = f"expected the text prepared with `data_prep subword --tokenizer {folder or 'FOLDER'}`"
    if not isinstance(tokenizer, TransformersTokenizer):
        raise InputError(f"{data}: its subwords are not those of a tokenizer of {KIND}; {expected}")
    if folder is not None:
        with TemporaryDirectory() as scratch:
            store_tokenizer(folder, Path(scratch) / "tokenizer")
            own = TransformersTokenizer(Path(scratch) / "tokenizer").checksum
        if own != tokenizer.checksum:
            raise InputError(f"{data}: its tokenizer is not that of {OPTION} {folder}; {expected}")
    return tokenizer
