"""Language embeddings: a language is added to the embedding of every token, in place of a tag among them
(Conneau and Lample 2019; for translation, Song et al. 2019).

Data, searches and probes hand on token ids, in which a language is a tag, as with any other placement: behind
the source's `</s>`, and in place of the decoder's first `</s>`. Here the model takes the tags out again.
"""

from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn

from command_line.errors import InputError


class LanguageEmbeddings(nn.Module):
    """Takes the tags out of a model's input. The vector of a language is the row of its tag in the matrix of
    token embeddings, so that it has a place in every checkpoint, and has been trained where the tag was.

    Args:
        tags: the `LanguageTags` of the model, whose placement is `embedded`.
    """

    def __init__(self, tags, dictionary):
        super().__init__()
        self.behind = len(tags.placement.source_ending)  # tags per source
        self.padding, self.eos = dictionary.pad(), dictionary.eos()
        is_tag = torch.zeros(len(dictionary), dtype=torch.bool)
        is_tag[sorted(tags.all_ids())] = True
        self.register_buffer("is_tag", is_tag, persistent=False)  # made of the dictionary, as are the tags

    def _checked(self, tags: Tensor) -> Tensor:
        wrong = ~self.is_tag[tags]
        if wrong.any():
            raise InputError(
                f"token {int(tags[wrong][0])}: expected a language tag in its place; sentences need their "
                "tags and padding on the right, as the task multilingual_nmt makes them"
            )
        return tags

    def source(self, src_tokens: Tensor, embed_tokens: nn.Embedding) -> tuple[Tensor, Tensor]:
        """For an encoder's input, B x S, with tags behind every `</s>`: the same with padding in their place,
        so that no other token changes its place, and the sum of token and language embeddings, B x S x C.

        Raises:
            InputError: a sentence without tags.
        """
        places = torch.arange(-self.behind, 0, device=src_tokens.device)
        places = src_tokens.ne(self.padding).sum(dim=1, keepdim=True) + places  # B x tags
        tags = self._checked(src_tokens.gather(1, places.clamp(min=0)))
        words = src_tokens.scatter(1, places, self.padding)
        return words, embed_tokens(words) + embed_tokens(tags).sum(dim=1, keepdim=True)

    def target(self, prev_output_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """For a decoder's input, B x T, that begins with tags: the same with `</s>` in their place; and B
        tags.

        Raises:
            InputError: it begins with something else.
        """
        tags = self._checked(prev_output_tokens[:, 0])
        words = prev_output_tokens.clone()
        words[:, 0] = self.eos
        return words, tags


def added_to(module: nn.Module, vectors: Tensor) -> AbstractContextManager:
    """While the context lasts, what the module returns, B x T x C, or 1 x T x C, has B x C added to every
    position.
    """
    return module.register_forward_hook(lambda module, inputs, output: output + vectors[:, None])


def embed_languages(model, tags, dictionary) -> None:
    """Give both sides of a model language embeddings.

    Raises:
        InputError: a side has none (another architecture), or no positions.
    """
    for side in (model.encoder, model.decoder):
        if not hasattr(side, "languages"):
            raise InputError(
                f"--language-tags {tags.placement_name}: a {type(side).__name__} has no language embeddings; "
                "use --arch mnmt_transformer"
            )
        if side.embed_positions is None:
            raise InputError(
                f"--no-token-positional-embeddings: not with --language-tags {tags.placement_name}"
            )
        side.languages = LanguageEmbeddings(tags, dictionary)
