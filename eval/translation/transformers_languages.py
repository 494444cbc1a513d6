"""How models of `transformers` are told the languages of a sentence.

| model | encoder reads | decoder begins with |
|---|---|---|
| M2M-100, NLLB-200, mBART-50 | the tag of the source, and the text | the tag of the target |
| MADLAD-400 | `<2xx>` of the target, and the text | |
| OPUS-MT into several languages | `>>xx<<` of the target, and the text | |
| OPUS-MT of one direction | the text | |
| other T5 | a sentence that names the languages, and the text | |
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from command_line.errors import InputError
from data_prep.languages import find_language, usual_names

OPTION = "--checkpoint"  # by which a folder of transformers is given
KIND = "encoder-decoders of transformers"
T5 = ("t5", "mt5", "umt5", "longt5")  # types of models
TAG = re.compile(r"<2(\w+)>")
TASK = re.compile(r"translation_(\w+)_to_(\w+)")  # of T5's configuration
LISTED = 12  # languages in a message


class Marks(NamedTuple):
    """What marks the languages of a direction, in token ids.

    Attributes:
        before, behind: what the encoder reads around the text.
        forced: the first token of every hypothesis; None: any.
    """

    before: list[int]
    behind: list[int]
    forced: int | None = None


class Languages(ABC):
    """The languages of a model, by its own codes.

    Attributes:
        sources: those that it reads; None: any.
        targets: those that it writes; None: any.
        tag_ids: tokens of languages.
    """

    sources: frozenset[str] | None = None
    targets: frozenset[str] | None = None
    tag_ids: Collection[int] = ()

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def ids(self, text: str) -> list[int]:
        """Token ids of a text, as they are between its marks. A tag or `</s>` that it spells is an unknown
        word.
        """
        unknown = self.tokenizer.unk_token_id
        return [unknown if number in self._special_ids else number for number in self.tokenized(text)]

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset((*self.tokenizer.all_special_ids, *self.tag_ids))

    def tokenized(self, text: str) -> list[int]:
        """Token ids of a text without spaces around it."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    @abstractmethod
    def marks(self, source: str, target: str) -> Marks:
        """The marks of a direction between two of the model's codes."""

    def has(self, source: str, target: str) -> bool:
        """Whether the model translates between two of its languages."""
        return True


class TagTokens(Languages):
    """M2M-100, NLLB-200, mBART-50: a token of every language."""

    def __init__(self, tokenizer, tokens: Mapping[str, int]):
        super().__init__(tokenizer)
        self.tokens, self.tag_ids = tokens, frozenset(tokens.values())
        self.sources = self.targets = frozenset(tokens)

    def marks(self, source: str, target: str) -> Marks:
        self.tokenizer.src_lang = source
        return Marks(
            list(self.tokenizer.prefix_tokens), list(self.tokenizer.suffix_tokens), self.tokens[target]
        )


class MarianTags(Languages):
    """OPUS-MT: `>>xx<<` of the target, if the model writes several languages."""

    def __init__(self, tokenizer, path):
        super().__init__(tokenizer)
        codes = {token[2:-2]: token for token in tokenizer.supported_language_codes}
        self.tags = {code: tokenizer.convert_tokens_to_ids(token) for code, token in codes.items()}
        self.tag_ids = frozenset(self.tags.values())
        source, target = tokenizer.source_lang, tokenizer.target_lang
        if not self.tags and (not target or _is_group(target)):
            raise InputError(
                f"{path}/tokenizer_config.json: field 'target_lang' is {target!r}; expected a language, as"
                " the vocabulary has no tags such as >>de<<"
            )
        self.sources = frozenset([source]) if source and not _is_group(source) else None
        self.targets = frozenset(self.tags or [target])

    def tokenized(self, text: str) -> list[int]:
        """A text that begins with `>>` has no tag there."""
        return super().tokenized(f" {text}" if text.startswith(">>") else text)

    def marks(self, source: str, target: str) -> Marks:
        tag = [self.tags[target]] if self.tags else []
        return Marks(tag, [self.tokenizer.eos_token_id])


class Prefixed(Languages):
    """T5 and its like read the languages as a part of the text."""

    def tokenized(self, text: str) -> list[int]:
        """Behind another word, as some tokenizers split the first word of a text in another way."""
        word = super().tokenized("a")
        return super().tokenized(f"a {text}")[len(word) :]

    def behind(self, prefix: str) -> Marks:
        """The marks of a text behind a prefix and a space."""
        return Marks(super().tokenized(prefix.rstrip()), [self.tokenizer.eos_token_id])


class T5Tags(Prefixed):
    """MADLAD-400: `<2xx>` of the target."""

    def __init__(self, tokenizer, tags: Mapping[str, str]):
        super().__init__(tokenizer)
        self.tags, self.tag_ids = tags, frozenset(tokenizer.convert_tokens_to_ids(list(tags.values())))
        self.sources = self.targets = frozenset(tags)

    def marks(self, source: str, target: str) -> Marks:
        return self.behind(self.tags[target])


class T5Prefix(Prefixed):
    """T5: the task in words, as its configuration or the user has it.

    Args:
        template: of any direction, with {source} and {target}; None: the tasks of the configuration.
    """

    def __init__(self, tokenizer, template: str | None, tasks: Mapping[tuple[str, str], str]):
        super().__init__(tokenizer)
        self.template, self.tasks = template, tasks
        if template is None:
            self.sources, self.targets = (frozenset(side) for side in zip(*tasks, strict=True))

    def has(self, source: str, target: str) -> bool:
        return self.template is not None or (source, target) in self.tasks

    def marks(self, source: str, target: str) -> Marks:
        if self.template is None:
            return self.behind(self.tasks[source, target])
        names = {"source": _name(source), "target": _name(target)}
        return self.behind(self.template.format(**names))


def languages_of(tokenizer, config, path, source_prefix: str | None) -> Languages:
    """How a model is told languages.

    Raises:
        InputError: it is none of the models above, or a T5 of which nobody says how.
    """
    kind = type(tokenizer).__name__.removesuffix("Fast").removesuffix("Tokenizer")
    is_t5 = config.model_type in T5
    if source_prefix is not None and not is_t5:
        raise InputError(f"--source-prefix: needs a T5, found {kind}Tokenizer in {path}; leave it out")
    if is_t5:
        return _of_t5(tokenizer, config, path, source_prefix)
    if kind == "Marian":
        return MarianTags(tokenizer, path)
    if kind in ("M2M100", "MBart50"):
        return TagTokens(tokenizer, dict(tokenizer.lang_code_to_id))
    if kind == "Nllb":
        tags = [tag for tag in tokenizer.additional_special_tokens if find_language(tag)]
        return TagTokens(tokenizer, {tag: tokenizer.convert_tokens_to_ids(tag) for tag in tags})
    raise InputError(
        f"{path}: a {config.model_type} with {type(tokenizer).__name__}; expected M2M-100, NLLB-200,"
        " mBART-50, OPUS-MT, MADLAD-400 or T5, each with its own tokenizer"
    )


def _of_t5(tokenizer, config, path, source_prefix: str | None) -> Languages:
    if source_prefix is not None:
        return T5Prefix(tokenizer, source_prefix, {})
    tags = {match[1]: token for token in tokenizer.get_vocab() if (match := TAG.fullmatch(token))}
    if tags:
        return T5Tags(tokenizer, tags)
    tasks = {}
    for name, task in (getattr(config, "task_specific_params", None) or {}).items():
        if match := TASK.fullmatch(name):
            tasks[match[1], match[2]] = str(task.get("prefix", ""))
    if not tasks:
        raise InputError(
            f"{path}: neither its vocabulary (<2de>) nor its configuration (task_specific_params) says how"
            " it is told the languages; give --source-prefix, such as 'translate {source} to {target}: '"
        )
    return T5Prefix(tokenizer, None, tasks)


def model_code(code: str, own_codes: Iterable[str] | None, given: Mapping[str, str], path) -> str:
    """What a model calls a language.

    Args:
        own_codes: the model's codes; None: it takes any.
        given: the user's code -> the model's, where the user says it.

    Raises:
        InputError: it does not know the language, or has several of the meaning.
    """
    wanted = given.get(code, code)
    if own_codes is None or wanted in own_codes:
        return wanted
    names = usual_names(wanted, own_codes) if code not in given else set()
    if len(names) == 1:
        return names.pop()
    if names:
        raise InputError(
            f"language {code!r}: may be {', '.join(sorted(names))} of {path}; say which one with"
            " --language-codes"
        )
    codes = sorted(own_codes)
    more = f" and {len(codes) - LISTED} more" if len(codes) > LISTED else ""
    raise InputError(
        f"language {wanted!r}: not known to {path}, which has {', '.join(codes[:LISTED])}{more};"
        " --language-codes FILE maps yours to its codes"
    )


def _name(code: str) -> str:
    language = find_language(code)
    return code if language is None else language.name


def _is_group(code: str) -> bool:
    """Whether a code stands for several languages, as `roa` does for the Romance ones (ISO 639-5)."""
    language = find_language(code)
    return language is not None and language.name.endswith("languages")
