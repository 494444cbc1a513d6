"""Languages of tagged sentences, and how long a sentence is in the centric language.

Everything is read from the token ids, so that whoever calls the model, fairseq's own commands included, need
pass nothing else.
"""

import torch
from torch import Tensor, nn

from command_line.errors import InputError


class TagReader(nn.Module):
    """Reads the language tags that `fairseq_ext.data.language_tags` gives to sentences.

    Args:
        tags: the `LanguageTags` of the model. The sentences begin with them, or end with that of a target
            that is announced; padding is on the right.
        vocabulary: number of symbols, tags included.
        padding: token id.
    """

    def __init__(self, tags, vocabulary: int, padding: int):
        super().__init__()
        self.placement, self.padding = tags.placement, padding
        self.announced = int(tags.announces_target)  # tokens at the end that do not count
        numbers = torch.full((vocabulary,), -1)
        for number, language in enumerate(tags.languages):
            numbers[tags.id_of(language)] = number
        self.register_buffer("numbers", numbers, persistent=False)  # made of the dictionary, as are the tags

    @property
    def knows_source(self) -> bool:
        """Whether the encoder's input names its own language."""
        return "source" in self.placement.encoder

    def _languages(self, tags: Tensor) -> Tensor:
        languages = self.numbers[tags]
        if (languages < 0).any():
            raise InputError(
                f"token {int(tags[languages < 0][0])}: expected a language tag in its place; sentences need"
                " their tags, and padding on the right, as the task multilingual_nmt makes them"
            )
        return languages

    def source_languages(self, src_tokens: Tensor) -> Tensor:
        """Number of each sentence's language among the languages of the model: B x S -> B.

        Raises:
            InputError: a sentence without tag.
        """
        return self._languages(src_tokens[:, self.placement.encoder.index("source")])

    def source_lengths(self, src_tokens: Tensor) -> Tensor:
        """Tokens of each sentence, tags and `</s>` included, without the announced target: B x S -> B."""
        return src_tokens.ne(self.padding).sum(dim=1) - self.announced

    def target(self, src_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The tag of each sentence's target, and the sentences without it where it was only announced.

        Args:
            src_tokens: B x S.

        Returns:
            B token ids; B x S.

        Raises:
            InputError: a sentence without tag.
        """
        if self.announced:
            last = self.source_lengths(src_tokens)[:, None]
            tags = src_tokens.gather(1, last).squeeze(1)
            src_tokens = src_tokens.scatter(1, last, self.padding)
        else:
            tags = src_tokens[:, self.placement.encoder.index("target")]
        self._languages(tags)
        return tags, src_tokens

    def centric_lengths(self, src_tokens: Tensor, prev_output_tokens: Tensor, centric: int) -> Tensor:
        """Tokens that the centric side of each pair has as encoder input (equation 7.1); 0 where neither side
        is in the centric language.

        Args:
            src_tokens: B x S.
            prev_output_tokens: B x T, `</s>`, tag, if there is one, w1, … wn.
            centric: number of the language.

        Returns:
            B lengths, tags and `</s>` included.
        """
        if self.placement.decoder:
            target_tags = prev_output_tokens[:, 1]
        else:
            target_tags = src_tokens[:, self.placement.encoder.index("target")]
        as_source = len(self.placement.encoder) - int(self.placement.decoder)  # tags more than as target
        target_lengths = prev_output_tokens.ne(self.padding).sum(dim=1) + as_source
        target_lengths = target_lengths * self._languages(target_tags).eq(centric)
        is_centric = self.source_languages(src_tokens).eq(centric)
        return torch.where(is_centric, self.source_lengths(src_tokens), target_lengths)
