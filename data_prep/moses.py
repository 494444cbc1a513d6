"""sacremoses' tokenizer, several times faster, with the same output.

Most of sacremoses' time goes into regular expressions over words that it has seen thousands of times. Its
rules look at a character and its direct neighbours, so what a word becomes does not depend on the words
around it, with three
exceptions: a word with a full stop (whether it is an abbreviation depends on how the next word begins), the
last word of a line, and, in some languages, an apostrophe at the edge of a word (two rules compete for the
space beside it). So sacremoses tokenizes every word once in each of these situations and the result is
remembered; lines of the third kind, and lines with control characters, go to sacremoses as a whole.
"""

import re
import weakref

REMEMBERED_WORDS = 1_500_000  # of a process, whatever the number of languages; a word takes about 200 bytes
_CONTROL_OR_COMMA_FIRST = r"[\0-\x08\x0e-\x1b]|^\s*,"
_APOSTROPHE_AT_EDGE = r"(?:^|[\s'])'|'(?:$|\s)"
_NEXT_WORDS = {"lower": "a", "digit": "1", "other": "A"}  # one representative of each kind of next word


class FastMosesTokenizer:
    """`tokenize(line)` equals `sacremoses.MosesTokenizer(language).tokenize(line, return_str=True)`."""

    def __init__(self, language: str):
        from sacremoses import MosesTokenizer

        self._moses = MosesTokenizer(language)
        self._lower = frozenset(self._moses.IsLower)
        edge = f"|{_APOSTROPHE_AT_EDGE}" if language in ("en", "fr", "it") else ""
        self._depends_on_the_whole_line = re.compile(_CONTROL_OR_COMMA_FIRST + edge).search
        self._inner: dict[str, str] = {}  # without a full stop, not last in its line
        self._last: dict[str, str] = {}
        self._with_stop: dict[tuple[str, str], str] = {}  # with one, not last; by the kind of the next word
        _memory.add(self)

    def tokenize(self, line: str) -> str:
        if self._depends_on_the_whole_line(line):
            return self._moses.tokenize(line, return_str=True)
        words = line.split()
        if not words:
            return ""
        get, parts = self._inner.get, []
        last = len(words) - 1
        for place in range(last):
            word = words[place]
            parts.append(get(word) or self._tokenize_inner(word, words[place + 1]))
        parts.append(self._last.get(words[last]) or self._tokenize_last(words[last]))
        return " ".join(parts)

    def _tokenize_inner(self, word: str, next_word: str) -> str:
        if "." not in word:
            return _memory.keep(self._inner, word, self._moses.tokenize(f"a {word} a", return_str=True)[2:-2])
        kind = self._kind(next_word)
        tokenized = self._with_stop.get((word, kind))
        if tokenized is not None:
            return tokenized
        tokens = self._moses.tokenize(f"a {word} {_NEXT_WORDS[kind]}", return_str=True)[2:-2]
        return _memory.keep(self._with_stop, (word, kind), tokens)

    def _tokenize_last(self, word: str) -> str:
        return _memory.keep(self._last, word, self._moses.tokenize(f"a {word}", return_str=True)[2:])

    def forget(self) -> None:
        for words in (self._inner, self._last, self._with_stop):
            words.clear()

    def _kind(self, next_word: str) -> str:
        first = next_word[0]
        if first in self._lower:
            return "lower"
        return "digit" if "0" <= first <= "9" else "other"


class _Memory:
    """What all tokenizers of a process remember together."""

    def __init__(self):
        self._tokenizers: weakref.WeakSet[FastMosesTokenizer] = weakref.WeakSet()
        self._words = 0

    def add(self, tokenizer: FastMosesTokenizer) -> None:
        self._tokenizers.add(tokenizer)

    def keep(self, words: dict, key, tokens: str) -> str:
        if self._words >= REMEMBERED_WORDS:
            for tokenizer in self._tokenizers:
                tokenizer.forget()
            self._words = 0
        words[key] = tokens
        self._words += 1
        return tokens


_memory = _Memory()
