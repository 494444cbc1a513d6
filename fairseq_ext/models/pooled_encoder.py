"""Pooling on top of an encoder of tokens: the states of a sentence become its vector (thesis 2.2.1, 2.1)."""

import torch
from torch import Tensor, nn

from fairseq_ext.models.sentence_encoder_options import MIXTURE, parse_layer
from fairseq_ext.modules.pooling import POOLINGS, not_counted, sentence_sums

ABOVE_THE_LAYERS = ("layer_weights", "pooler.", "sentence_map.")  # names of parameters


class PooledEncoder:
    """Pooling, and perhaps a linear map, on top of an encoder of tokens, of which this is the first base.

    Attributes:
        reads_cls: is every sentence read with `<s>` in front, whatever the pooling?
        sentence_width: C' of the vectors.
        pooled_width: of the vectors below the last linear map.
    """

    reads_cls = False

    def __init__(self, cfg, dictionary, embed_tokens):
        super().__init__(cfg, dictionary, embed_tokens)
        self.kind = POOLINGS[str(cfg.pooling)]
        self.layer = parse_layer(cfg.pooling_layer, cfg.encoder.layers)
        width = cfg.encoder.embed_dim
        self.pooled_width = cfg.pooler_width or width
        self.sentence_width = cfg.sentence_width or self.pooled_width
        self.cls = dictionary.bos() if self.kind.has_cls or self.reads_cls else None
        left_out = [dictionary.bos(), dictionary.eos()] if cfg.pooling_without_eos else []
        self.register_buffer("left_out", torch.tensor(left_out, dtype=torch.long), persistent=False)
        self.layer_weights = None
        if self.layer is None:
            learned = str(cfg.pooling_layer) == MIXTURE
            self.layer_weights = nn.Parameter(torch.zeros(len(self.layers) + 1), requires_grad=learned)
        has_pooler = self.kind.is_dense or cfg.pooler_width
        self.pooler = nn.Linear(width, self.pooled_width) if has_pooler else None
        self.sentence_map = nn.Linear(self.pooled_width, self.sentence_width) if cfg.sentence_width else None
        if self.layer is not None:
            self.layers[self.layer :].requires_grad_(False)  # distributed training waits for every gradient
        self.frozen = cfg.freeze_encoder
        if self.frozen:
            for name, parameter in self.named_parameters():
                parameter.requires_grad_(name.startswith(ABOVE_THE_LAYERS) and parameter.requires_grad)

    def train(self, mode: bool = True) -> "PooledEncoder":
        """A frozen encoder has no dropout in training, either."""
        return super().train(mode and not self.frozen)

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: Tensor | None = None,
        pooled_vectors: Tensor | None = None,
        layer_sums: Tensor | None = None,
    ) -> dict:
        """fairseq's dictionary with the sentence vectors as the only states that a decoder sees,
        "encoder_out", 1 x B x C', and their padding mask, B x 1.

        Args:
            src_tokens: B x S, padded on the right.
            return_all_hiddens: also "encoder_states".
            pooled_vectors: B x C, of a frozen encoder, stored: nothing below the last linear map runs, and
                there are no states.
            layer_sums: B x (L + 1) x C, what `sums_of_layers` has given for the sentences; nothing below the
                pooling runs, and there are no states.

        Returns:
            Further keys: "sentence_vectors", one tensor, B x C', and "pooled_vectors", those below the last
            linear map; and, lists of one tensor each, the states of the given tokens that are pooled,
            "token_states", S x B x C, and "token_padding_mask", B x S, and those of all tokens that are read,
            `<s>` in front included, "read_states", T x B x C, with "read_padding" and "read_tokens", B x T.
        """
        if layer_sums is not None:
            pooled_vectors = self._above(self._pool_sums(layer_sums, src_tokens))
        if pooled_vectors is not None:
            return self._of_pooled(pooled_vectors)
        if self.cls is not None:
            src_tokens = torch.cat([torch.full_like(src_tokens[:, :1], self.cls), src_tokens], dim=1)
        every_layer = return_all_hiddens or self.layer != len(self.layers)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            encoded = super().forward(src_tokens, src_lengths, every_layer, token_embeddings)
        states, padding = encoded["encoder_out"][0], encoded["encoder_padding_mask"][0]
        left_out = not_counted(src_tokens, self.padding_idx, self.left_out)
        pooled_states = self._pooled_states(encoded)
        pooled = self._above(self.kind.apply(pooled_states, left_out))
        vectors = self._mapped(pooled)
        begin = 0 if self.cls is None else 1
        return {
            **encoded,
            "encoder_out": [vectors.unsqueeze(0).type_as(states)],
            "encoder_padding_mask": [padding.new_zeros(len(padding), 1)],
            "sentence_vectors": vectors,
            "pooled_vectors": pooled,
            "token_states": [pooled_states[begin:]],
            "token_padding_mask": [padding[:, begin:]],
            "read_states": [pooled_states],
            "read_padding": [padding],
            "read_tokens": [src_tokens],
        }

    def _mapped(self, pooled: Tensor) -> Tensor:
        """The vectors, B x C', of those below the last linear map."""
        if self.sentence_map is None:
            return pooled
        return self.sentence_map(pooled.to(self.sentence_map.weight.dtype))

    def _of_pooled(self, pooled: Tensor) -> dict:
        """What the encoder returns, of vectors that it has made before."""
        vectors = self._mapped(pooled)
        return {
            **{name: [] for name in ("encoder_embedding", "encoder_states", "src_tokens", "src_lengths")},
            "encoder_out": [vectors.unsqueeze(0)],
            "encoder_padding_mask": [vectors.new_zeros(len(vectors), 1, dtype=torch.bool)],
            "sentence_vectors": vectors,
            "pooled_vectors": pooled,
        }

    def sums_of_layers(self, src_tokens: Tensor) -> Tensor:
        """The sum over the tokens of a sentence of the states of every layer, the embeddings being the
        lowest, B x (L + 1) x C, in float32 or better. Pooling by sum and by mean needs nothing else, as a sum
        commutes with the mixture of layers.

        Args:
            src_tokens: B x S, padded on the right, as `forward` has them.
        """
        if self.cls is not None:
            src_tokens = torch.cat([torch.full_like(src_tokens[:, :1], self.cls), src_tokens], dim=1)
        encoded = super().forward(src_tokens, src_tokens.ne(self.padding_idx).sum(dim=1), True)
        padding = src_tokens.eq(self.padding_idx)
        return torch.stack([sentence_sums(states, padding) for states in self._every_layer(encoded)], dim=1)

    def _pool_sums(self, sums: Tensor, src_tokens: Tensor) -> Tensor:
        """As the pooling of the states that were summed, B x C."""
        if self.layer is not None:
            pooled = sums[:, self.layer]
        else:
            pooled = torch.einsum("l,blc->bc", self.layer_weights.softmax(0).type_as(sums), sums)
        if self.kind is POOLINGS["sum"]:
            return pooled
        lengths = src_tokens.ne(self.padding_idx).sum(dim=1, keepdim=True)
        return pooled / (lengths + (self.cls is not None))

    def _pooled_states(self, encoded: dict) -> Tensor:
        """The states that are pooled, T x B x C: what the encoder returns if it ends at that layer, that is,
        after the final norm, if there is one.
        """
        if self.layer == len(self.layers):
            return encoded["encoder_out"][0]
        if self.layer is not None:
            return self._normalized(encoded["encoder_states"][self.layer])
        layers = torch.stack(self._every_layer(encoded))
        return torch.einsum("l,ltbc->tbc", self.layer_weights.softmax(0).type_as(layers), layers)

    def _every_layer(self, encoded: dict) -> list[Tensor]:
        """L + 1, T x B x C each: what the encoder would return if it ended there."""
        return [*map(self._normalized, encoded["encoder_states"][:-1]), encoded["encoder_out"][0]]

    def _normalized(self, states: Tensor) -> Tensor:
        return states if self.layer_norm is None else self.layer_norm(states)

    def _above(self, vectors: Tensor) -> Tensor:
        """Pooled states -> the vectors below the last linear map, B x C."""
        if self.pooler is not None:
            vectors = self.pooler(vectors.to(self.pooler.weight.dtype))
        return torch.tanh(vectors) if self.kind.is_dense else vectors

    @property
    def above_tokens(self) -> tuple[str, ...]:
        """The options that gave it parameters above the states of tokens."""
        pooler = "--pooling pooler" if self.kind.is_dense else "--pooler-width"
        given = {"--sentence-width": self.sentence_map, pooler: self.pooler}
        return tuple(option for option, module in given.items() if module is not None)

    def pooling_state(self) -> dict[str, Tensor]:
        """The parameters that an encoder without pooling lacks."""
        return {name: value for name, value in self.state_dict().items() if name.startswith(ABOVE_THE_LAYERS)}

    def max_positions(self) -> int:
        """Tokens of a sentence, `<s>` not counted."""
        return super().max_positions() - (self.cls is not None)
