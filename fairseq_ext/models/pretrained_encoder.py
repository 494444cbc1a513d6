"""Encoders of `transformers` (XLM-R, mBERT, LaBSE, …) in place of our own layers: `--pretrained-encoder`.

A checkpoint holds the configuration of the encoder and the checksum of its tokenizer, so that the folder is
needed when a training starts and never again.
"""

import logging
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from fairseq import utils
from fairseq.models import FairseqEncoder
from torch import Tensor, nn

from command_line.errors import InputError
from data_prep.formats.preparation import Preparation
from data_prep.model_folders.libraries import reading
from data_prep.model_folders.models import KIND
from data_prep.transformers_tokenizer import TransformersTokenizer, store_tokenizer
from fairseq_ext.models.pretrained_configuration import OPTION, config_of, read_config, sizes_of
from fairseq_ext.models.pretrained_weights import (
    WordHead,
    from_config,
    load_encoder,
    load_word_head,
    longest_of,
    states_of_tokens,
    without_words,
)

logger = logging.getLogger(__name__)
SAMPLE = 16  # tokens whose states are compared with the library's
TOLERANCE = 1e-3  # of the length of all states, in float32


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
        self.tokenizer_ids: Tensor | None = None  # of the dictionary's symbols; -1: none
        self.model = without_words(from_config(config))
        self.longest = longest_of(self.model)
        if cfg.checkpoint_activations:
            self.model.gradient_checkpointing_enable({"use_reentrant": False})

    def start_from(self, folder: Path, tokenizer: TransformersTokenizer) -> None:
        """Take the weights of a folder.

        Raises:
            InputError: its files lack weights, or embeddings of some ids of its tokenizer; or it makes states
                of something else than of embeddings of tokens, so that those of here would be others.
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
            self._take_pooler(loaded, folder)
        in_tokenizer = (ids >= 0).nonzero().flatten()
        sample = in_tokenizer[in_tokenizer != self.padding_idx][:SAMPLE].unsqueeze(0)
        with reading(folder, KIND, OPTION):
            expected = states_of_tokens(loaded, input_ids=ids[sample])
        self.model.load_state_dict(without_words(loaded).state_dict())
        self._check_states(sample, expected, folder)
        self.started_from, self.tokenizer_ids = min(folder.glob("*.safetensors")), ids

    def word_head(self) -> WordHead | None:
        """What predicts words above the encoder, with a bias for every symbol of the dictionary; None where
        the folder of the training's start has none, or there was no such folder, or a lower layer is pooled.
        """
        is_last = self.layer == len(self.layers)
        head = load_word_head(self.started_from.parent) if self.started_from and is_last else None
        if head is None:
            return None
        unknown = int(self.tokenizer_ids[self.dictionary.unk()].clamp(min=0))
        ids = torch.where(self.tokenizer_ids < 0, unknown, self.tokenizer_ids)
        return replace(head, bias=head.bias[ids])

    def _take_pooler(self, loaded, folder: Path) -> None:
        pooler = getattr(loaded, "pooler", None)
        if not hasattr(pooler, "dense"):
            raise InputError(f"--pooling pooler: {OPTION} {folder} has no pooler; choose mean or cls")
        self.pooler.load_state_dict(pooler.dense.state_dict())
        if self.frozen and self.sentence_map is not None:  # LaBSE with fewer dimensions (thesis 3.2.2)
            self.pooler.requires_grad_(False)
            logger.info(
                f"the pooler of {folder} is frozen with its layers: --sentence-width is trained above it"
            )

    def _check_states(self, sample: Tensor, expected: Tensor, folder: Path) -> None:
        """Compare with the folder's own states of some tokens, 1 x T x C, of 1 x T."""
        states = states_of_tokens(self.model, inputs_embeds=self.embed_tokens(sample))
        if (states - expected).norm() > TOLERANCE * expected.norm():
            raise InputError(
                f"{OPTION} {folder}: its states are others than those of its configuration and embeddings;"
                " expected an encoder that reads tokens and nothing else, such as bert or xlm-roberta"
            )

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
            "encoder_states": [layer.transpose(0, 1) for layer in states],
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
    for option, size in sizes_of(config).items():
        if not folder and getattr(args, option) != size:
            raise InputError(
                f"option token_encoder has {option} {size}, the options have {getattr(args, option)};"
                " expected the same"
            )
        setattr(args, option, size)
    args.decoder_embed_dim = args.encoder_embed_dim
    if not args.decoder_layers:
        args.decoder_ffn_embed_dim = args.encoder_ffn_embed_dim
    return tokenizer


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
