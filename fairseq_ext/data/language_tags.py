"""Language tags: which languages a sentence is marked with, and where (the *language tags* axis).

Wu et al. (2021) and thesis section 8.2.1 (2) compare the placements. Tokens are spelled and placed as
fairseq's `translation_multi_simple_epoch` does it, so that checkpoints of either side are read by the
other: `__de__`, in front of the source sentence (encoder) and in front of the target sentence (decoder,
where the tag is the first token that the decoder is given after `</s>` and is forced, not searched for, at
inference). `mbart` is the placement of mBART's pre-training (Liu et al., 2020; fairseq's
`translation_from_pretrained_bart`): the source's tag follows `</s>`, and the target's tag takes the place of
`</s>` as the first token that the decoder is given. fairseq's task lets the decoder predict the tag once
more, after `</s>`; here, where one batch holds many target languages, a sentence ends at `</s>` as always.

| name          | encoder input      | decoder output    | fairseq's options                          |
|---------------|--------------------|-------------------|--------------------------------------------|
| `s-enc-t-dec` | `__src__ w1 …`     | `__tgt__ v1 …`    | `--encoder-langtok src --decoder-langtok`  |
| `t-enc`       | `__tgt__ w1 …`     | `v1 …`            | `--encoder-langtok tgt`                    |
| `t-dec`       | `w1 …`             | `__tgt__ v1 …`    | `--decoder-langtok`                        |
| `s-enc-t-enc` | `__src__ __tgt__ w1 …` | `v1 …`        | none                                       |
| `none`        | `w1 …`             | `v1 …`            | neither (a bilingual model)                |
| `mbart`       | `w1 … </s> __src__` | `v1 …`, after `__tgt__` for `</s>` | none                     |
| `embedded`    | as `mbart`         | as `mbart`        | none                                       |
| `embedded-t-enc` | `w1 … </s> __src__ __tgt__` | as `mbart` | none                                    |

With the last two no tag is a token of a sentence: the model takes them out, and adds their embeddings to
that of every token (`fairseq_ext.modules.language_embeddings`).

A new placement is one entry of `PLACEMENTS`: datasets, tables and records read all they need there.

An encoder may look at the target's tag apart from the sentence (`--target-embedding-layers`). Where a
placement does not show it to the encoder, it is announced: the last token of the source, which such an
encoder takes away before it reads the sentence.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from command_line.errors import InputError


@dataclass(frozen=True)
class TagPlacement:
    """Where the tags go.

    Attributes:
        label: in tables and names of systems.
        encoder: in front of the source sentence, "source"/"target" in the order of the tokens.
        decoder: is the target's in front of the target sentence?
        source_ending: after the source sentence's `</s>`, as `encoder`.
        starts_decoder: does the target's take the place of `</s>` in the decoder's input?
        embedded: does the model add the tags to the embeddings of all tokens, as language embeddings?
    """

    label: str
    encoder: tuple[str, ...]
    decoder: bool
    source_ending: tuple[str, ...] = ()
    starts_decoder: bool = False
    embedded: bool = False


PLACEMENTS = {  # in the order of Table 8.2
    "s-enc-t-dec": TagPlacement("S-ENC-T-DEC", encoder=("source",), decoder=True),
    "t-enc": TagPlacement("T-ENC", encoder=("target",), decoder=False),
    "t-dec": TagPlacement("T-DEC", encoder=(), decoder=True),
    "s-enc-t-enc": TagPlacement("S-ENC-T-ENC", encoder=("source", "target"), decoder=False),
    "none": TagPlacement("NONE", encoder=(), decoder=False),
    "mbart": TagPlacement("MBART", encoder=(), decoder=False, source_ending=("source",), starts_decoder=True),
    "embedded": TagPlacement(
        "EMBEDDED",
        encoder=(),
        decoder=False,
        source_ending=("source",),
        starts_decoder=True,
        embedded=True,
    ),
    "embedded-t-enc": TagPlacement(
        "EMBEDDED-T-ENC",
        encoder=(),
        decoder=False,
        source_ending=("source", "target"),
        starts_decoder=True,
        embedded=True,
    ),
}
DEFAULT_PLACEMENT = "s-enc-t-dec"


def tag_token(language: str) -> str:
    """The dictionary entry of a language's tag."""
    return f"__{language}__"


def placement_of_fairseq_options(encoder_langtok: str | None, decoder_langtok: bool) -> str:
    """The name of the placement that fairseq's `--encoder-langtok` and `--decoder-langtok` describe.

    Raises:
        InputError: for source tag on the encoder without one on the decoder, which names no target language.
    """
    encoder = {"src": ("source",), "tgt": ("target",)}.get(encoder_langtok or "", ())
    for name, placement in PLACEMENTS.items():
        if placement == TagPlacement(placement.label, encoder, bool(decoder_langtok)):
            return name
    raise InputError(
        f"--encoder-langtok {encoder_langtok} --decoder-langtok {decoder_langtok}: no such tag placement; "
        f"expected one of {', '.join(PLACEMENTS)}"
    )


class LanguageTags:
    """The tags of a model: adds their tokens to the dictionary and gives the token ids of any direction.

    Args:
        dictionary: the shared fairseq dictionary; tags that it lacks are appended, in the order of
            `languages`.
        languages: the languages that the model knows.
        placement: a key of `PLACEMENTS`.
        exist: False for a bilingual model, whose dictionary has no tags (placement `none`): it knows its
            languages by name, and none of their tags has an index.

    Attributes:
        announces_target: is the last token of every source the target's tag, for an encoder that takes it
            away?
    """

    def __init__(self, dictionary, languages: Iterable[str], placement: str, exist: bool = True):
        if placement not in PLACEMENTS:
            raise InputError(f"--language-tags {placement}: expected one of {', '.join(PLACEMENTS)}")
        self.placement_name = placement
        self.placement = PLACEMENTS[placement]
        self.languages = list(languages)
        self.exist = exist
        self.announces_target = False
        self._ids = {
            language: dictionary.add_symbol(tag_token(language)) if exist else None
            for language in self.languages
        }

    def id_of(self, language: str) -> int | None:
        """Dictionary index of the tag of `language`; None where the model has no tags at all.

        Raises:
            InputError: the model has no tag for it; lists the languages that it has.
        """
        if language not in self._ids:
            languages = ", ".join(self.languages) or "none"
            raise InputError(
                f"language {language!r}: the model has no tag for it; known languages: {languages}"
            )
        return self._ids[language]

    def announce_target(self) -> None:
        """Put the target's tag where the encoder finds it: at the end of every source, unless it is in front.

        Raises:
            InputError: the model has no tags.
        """
        if not self.exist or self.placement_name == "none":
            raise InputError(
                "--target-embedding-layers: the model's sentences have no language tags; expected the"
                " task multilingual_nmt with --language-tags other than none"
            )
        self.announces_target = "target" not in self.placement.encoder

    @property
    def ending(self) -> tuple[str, ...]:
        """Whose tags follow the `</s>` of a source, "source" or "target"."""
        return (*self.placement.source_ending, *(["target"] if self.announces_target else []))

    @property
    def announced(self) -> int:
        """How many tokens at the end of a source are no part of the sentence that the encoder reads."""
        embedded = len(self.placement.source_ending) if self.placement.embedded else 0
        return embedded + int(self.announces_target)

    def all_ids(self) -> set[int]:
        """Dictionary indices of all tags: what detokenized output never shows."""
        return set(self._ids.values()) if self.exist else set()

    def encoder_ids(self, source: str, target: str) -> list[int]:
        """Tag ids in front of the source sentence of the direction `source`-`target`."""
        return self._ids_of_sides(self.placement.encoder, source, target)

    def source_ending_ids(self, source: str, target: str) -> list[int]:
        """Tag ids after the `</s>` of the source sentence."""
        return self._ids_of_sides(self.ending, source, target)

    def _ids_of_sides(self, sides: tuple[str, ...], source: str, target: str) -> list[int]:
        languages = {"source": self.id_of(source), "target": self.id_of(target)}
        return [languages[side] for side in sides]

    def decoder_ids(self, target: str) -> list[int]:
        """Tag ids in front of the target sentence (empty, or one)."""
        tag = self.id_of(target)
        return [tag] if self.placement.decoder else []

    def decoder_start_id(self, target: str) -> int | None:
        """The tag that the decoder's input begins with in place of `</s>`, if any."""
        tag = self.id_of(target)
        return tag if self.placement.starts_decoder else None
