"""Find the phrases of a text and their heads, and finalize the heads as HFSS does (thesis 4.3.2, 4.4.2).

Writes `SPLIT.….LANG.phrases` for every `SPLIT.….LANG` of tokenized text: a binary tree of phrases over the
words (PMASS), and the head-final order of the words (HFSS). Masks are drawn from it anew in every epoch. For
any language whose heads precede their dependents (thesis 4.3.3). Parsers:

  spacy     any pipeline with a dependency parser, `--model en_core_web_sm` or a path
  stanza    its constituency parser; `--model` is the folder of its models, which must be there
  enju      the paper's; the program `enju` (or `--model PATH`)
  enju-xml  its output: `--parses DIR` with SPLIT.….LANG.xml, one <sentence> per line of text
  conllu    `--parses DIR` with SPLIT.….LANG.conllu, one sentence per line of text that has words

phrases.LANG-report.json counts what could not be parsed (those lines fall back to MASS) and the share of
words that the reordering moves (thesis 4.5.1: 91.97%).
"""

from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.option_classes import option
from data_prep.formats.structures import PHRASES
from data_prep.formats.texts import LANGUAGE
from data_prep.parsing.parse_files import SUFFIXES
from data_prep.parsing.parsers import PHRASE_PARSERS
from data_prep.parsing.step import ParsingJob, run


@dataclass(frozen=True, kw_only=True)
class PhrasesJob(ParsingJob):
    """Which text is parsed for phrases, and with what."""

    parser: str = option("4.4.2 uses enju", "spacy", choices=[*PHRASE_PARSERS, *SUFFIXES])
    model: str | None = option("pipeline, folder of models or program of the parser")
    lang: str = option("language of the files to parse", "en", type=LANGUAGE)
    parses: Path | None = option("folder of parses, for enju-xml and conllu", metavar="DIR")


def main(job: PhrasesJob) -> None:
    if (job.parser in SUFFIXES) != (job.parses is not None):
        needs = "needs --parses DIR" if job.parser in SUFFIXES else "parses itself, --parses is for files"
        raise InputError(f"--parser {job.parser}: {needs}")
    if job.parses and job.model:
        raise InputError(f"--model {job.model}: --parser {job.parser} reads parses; leave it out")
    run(job, PHRASES, job.parses)
