"""What a parser is here, and the parsers that read sentences; those that read files of parses are in
`parse_files`.

A parser has `parse(texts)`: an iterator over one result per text, in order; for a sentence that it cannot
parse the exception that says why, or None. Results are ends of bunsetsu, or `ParsedTree`s. Both count
characters without spaces.
"""

import functools
import importlib.metadata
import shutil
import threading
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from subprocess import PIPE
from typing import NamedTuple

from command_line.errors import InputError
from command_line.os_errors import explain, explain_memory
from command_line.processes import how_it_ended, run_program
from data_prep.languages import subtag
from data_prep.parsing.constituency import phrase_of, tree_of_phrases
from data_prep.parsing.dependencies import tree_of_dependencies
from data_prep.parsing.parse_files import parsed_enju_line
from data_prep.parsing.tokens_to_words import ends_of
from data_prep.parsing.trees import ParsedTree

OWN_MODELS = {"ginza": "ja_ginza"}  # of a parser, where --model names no other


class ParserChoice(NamedTuple):
    """A parser that was chosen, with its model.

    Attributes:
        name: key of `PARSERS`.
        model: name or path of the model; "" for the parser's own, which has no name.
    """

    name: str
    model: str
    language: str


def model_files(model: str) -> list[Path]:
    """The files of a model that is given by its path; none of one that is installed."""
    path = Path(model)
    if not model or not path.exists():
        return []
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def model_version(model: str) -> dict[str, str]:
    """The version of a model that is installed, for a record; nothing of one that is given by its path."""
    if not model or Path(model).exists():
        return {}
    try:
        return {"model_version": importlib.metadata.version(model)}
    except importlib.metadata.PackageNotFoundError:
        return {}


def load_spacy(model: str, exclude: Sequence[str] = ()):
    """A spaCy pipeline, by name or path."""
    try:
        import spacy
    except ImportError:
        raise InputError("spaCy is not installed: pip install spacy (or '.[ja]')") from None
    try:
        return spacy.load(model, exclude=exclude)
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"--model {model}: not a spaCy pipeline that can be loaded here: {reason}") from None


def raise_what_is_of_the_machine(error: Exception, parser: str) -> None:
    """Raise an error that says nothing of the sentence: the next command may parse it."""
    if explain_memory(error):
        raise error
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):  # which long sentences may cause
        reason = explain(error) or error.strerror or error
        raise InputError(f"{parser}: {reason}; run the command again to continue") from None


def pipe(nlp, texts: list[str]) -> Iterator:
    """spaCy's documents of the texts; where the pipeline fails (on a text that is too long, for instance) its
    exception.

    Raises:
        InputError, MemoryError: as `raise_what_is_of_the_machine`.
    """
    try:
        yield from list(nlp.pipe(texts))
        return
    except Exception:  # which exceptions there are is a matter of the pipeline's components
        pass
    for text in texts:
        try:
            document = nlp(text)
        except Exception as error:
            raise_what_is_of_the_machine(error, "the spaCy pipeline")
            document = error
        yield document


class GinzaBunsetsu:
    """GiNZA's bunsetsu. Its components that bunsetsu do not depend on are left out; the result is the
    same.
    """

    def __init__(self, choice: ParserChoice):
        try:
            import ginza
        except ImportError:
            raise InputError("GiNZA is not installed: pip install '.[ja]'") from None
        self._nlp = load_spacy(choice.model, exclude=("morphologizer", "compound_splitter"))
        if "bunsetu_recognizer" not in self._nlp.pipe_names:
            raise InputError(
                f"--model {choice.model}: has no bunsetu_recognizer, expected a pipeline of GiNZA"
            )
        self._spans = ginza.bunsetu_spans

    def parse(self, texts: list[str]) -> Iterator[list[int] | Exception | None]:
        for document in pipe(self._nlp, texts):
            if isinstance(document, Exception):
                yield document
            elif not document:
                yield None
            else:
                yield ends_of(["".join(span.text.split()) for span in self._spans(document)])


class KnpBunsetsu:
    """KNP (the paper's, 4.4.2) through rhoknp; needs the programs `knp` and `jumanpp`."""

    def __init__(self, choice: ParserChoice):
        for program in ("knp", "jumanpp"):
            if shutil.which(program) is None:
                raise InputError(f"--parser knp: no program `{program}` on the PATH; `ginza` needs none")
        try:
            import rhoknp  # noqa: F401
        except ImportError:
            raise InputError("--parser knp: rhoknp is not installed: pip install '.[ja]'") from None

    @functools.cached_property
    def _knp(self):
        """Started by the process that uses it: forked workers cannot share one."""
        import rhoknp

        return rhoknp.KNP(jumanpp=rhoknp.Jumanpp())

    def parse(self, texts: list[str]) -> Iterator[list[int] | Exception]:
        for text in texts:
            try:
                sentence = self._knp.apply_to_sentence(text)
                parsed = ends_of(["".join(phrase.text.split()) for phrase in sentence.phrases])
            except (ValueError, RuntimeError, OSError, KeyError, IndexError) as error:
                if str(error).endswith("is not available."):  # rhoknp's, of a program that does not start
                    error = OSError(str(error).removesuffix("."))
                raise_what_is_of_the_machine(error, "--parser knp")
                parsed = error
            yield parsed


# what other pipelines compute and a dependency parser does not need
_NOT_FOR_PHRASES = (
    "tagger", "morphologizer", "lemmatizer", "trainable_lemmatizer", "ner", "entity_ruler", "attribute_ruler",
    "textcat", "textcat_multilabel", "entity_linker", "spancat", "compound_splitter", "bunsetu_recognizer",
)  # fmt: skip


class SpacyPhrases:
    """The dependency parser of any spaCy pipeline; the projection of every head is a phrase."""

    def __init__(self, choice: ParserChoice):
        if not choice.model:
            raise InputError("--parser spacy: --model is missing, expected a pipeline such as en_core_web_sm")
        self._nlp = load_spacy(choice.model, exclude=_NOT_FOR_PHRASES)
        # what the components say, not a try: a network that has run here would stand still in forked workers
        if not any("token.dep" in self._nlp.get_pipe_meta(name).assigns for name in self._nlp.pipe_names):
            raise InputError(
                f"--model {choice.model}: the pipeline has no dependency parser (no component that assigns"
                " token.dep)"
            )
        self._name = functools.cache(self._nlp.vocab.strings.__getitem__)

    def parse(self, texts: list[str]) -> Iterator[ParsedTree | Exception | None]:
        for document in pipe(self._nlp, texts):
            if isinstance(document, Exception) or not document:
                yield document or None
                continue
            offsets, labels, lengths = document.to_array(["HEAD", "DEP", "LENGTH"]).T
            heads = [token + offset for token, offset in enumerate(offsets.astype("int64").tolist())]
            relations = list(map(self._name, labels.tolist()))
            try:
                tree = tree_of_dependencies(heads, relations)
            except ValueError as error:
                yield error
                continue
            yield ParsedTree(list(accumulate(lengths.tolist())), tree)


class StanzaPhrases:
    """Stanza's constituency parser with heads by percolation; the model must be on this machine."""

    def __init__(self, choice: ParserChoice):
        try:
            import stanza
        except ImportError:
            raise InputError("--parser stanza: Stanza is not installed: pip install stanza") from None
        options = {"dir": choice.model} if choice.model else {}
        try:
            self._pipeline = stanza.Pipeline(
                subtag(choice.language),
                processors="tokenize,pos,constituency",
                tokenize_no_ssplit=True,
                download_method=None,
                verbose=False,
                **options,
            )
        except Exception as error:  # whatever it raises for models that are not there
            raise InputError(
                f"--parser stanza: no constituency model for {choice.language} "
                f"in {choice.model or 'its folder'}: "
                f"{' '.join(str(error).split())[:200]}"
            ) from None

    def parse(self, texts: list[str]) -> Iterator[ParsedTree | Exception | None]:
        for text in texts:
            try:
                sentences = self._pipeline(text).sentences
                parsed = self._parsed(sentences[0]) if len(sentences) == 1 else None
            except (ValueError, RuntimeError, IndexError, OSError) as error:
                raise_what_is_of_the_machine(error, "--parser stanza")
                parsed = error
            yield parsed

    @staticmethod
    def _parsed(sentence) -> ParsedTree:
        words = ["".join(word.text.split()) for word in sentence.words]
        tree = tree_of_phrases(phrase_of(sentence.constituency), len(words))
        return ParsedTree(ends_of(words), tree, "".join(words))


class EnjuPhrases:
    """The program `enju` (the paper's, 4.4.2), once per block of lines."""

    def __init__(self, choice: ParserChoice):
        self._program = choice.model or "enju"
        if shutil.which(self._program) is None:
            raise InputError(
                f"--parser enju: no program `{self._program}` on the PATH; "
                "--parser enju-xml reads its output from files"
            )

    def parse(self, texts: list[str]) -> Iterator[ParsedTree | None]:
        done = run_program(
            [self._program, "-xml"], input="\n".join(texts) + "\n", stdout=PIPE, stderr=PIPE, encoding="utf-8"
        )
        lines = [line for line in done.stdout.split("\n") if line.strip()]
        if done.returncode or len(lines) != len(texts):
            ended = f"{how_it_ended(done.returncode)} with " if done.returncode else ""
            reason = " ".join(done.stderr.split())[-200:]
            raise InputError(
                f"{self._program} -xml: {ended}{len(lines)} lines of output for {len(texts)} lines of text: "
                f"{reason}"
            )
        for number, line in enumerate(lines, start=1):
            yield parsed_enju_line(line, Path("output of enju"), number)


BUNSETSU_PARSERS = {"ginza": GinzaBunsetsu, "knp": KnpBunsetsu}
PHRASE_PARSERS = {"spacy": SpacyPhrases, "stanza": StanzaPhrases, "enju": EnjuPhrases}
PARSERS = BUNSETSU_PARSERS | PHRASE_PARSERS


class OfThread(threading.local):
    """What one thread has loaded: workers of dask are threads, and most parsers are for one at a time."""

    def __init__(self):
        self.make = functools.lru_cache(maxsize=2)(lambda choice: PARSERS[choice.name](choice))


LOADED = OfThread()


def make_parser(choice: ParserChoice):
    """The parser of a choice, loaded once per thread; a forked process has those of its parent."""
    return LOADED.make(choice)
