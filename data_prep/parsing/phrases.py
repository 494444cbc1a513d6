"""Find the phrases of a text and their heads, and finalize the heads as HFSS does (thesis 4.3.2, 4.4.2).

Writes `SPLIT.….LANG.phrases` for every `SPLIT.….LANG` of tokenized text: a binary tree of phrases over the
words (PMASS), and the head-final order of the words (HFSS). Masks are drawn from it anew in every epoch. For
any language whose heads precede their dependents (4.3.3). Parsers:

  spacy     any pipeline with a dependency parser, `--model en_core_web_sm` or a path
  stanza    its constituency parser; `--model` is the folder of its models, which must be there
  enju      the paper's; the program `enju` (or `--model PATH`)
  enju-xml  its output: `--parses DIR` with SPLIT.….LANG.xml, one <sentence> per line of text
  conllu    `--parses DIR` with SPLIT.….LANG.conllu, one sentence per line of text that has words

phrases.LANG-report.json counts what could not be parsed (those lines fall back to MASS) and the share of
words that the reordering moves (4.5.1: 91.97%).
"""

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from data_prep.parsing.parsers import PHRASE_PARSERS


def add_arguments(parser) -> None:
    from data_prep.parsing.options import add_arguments as add_common
    from data_prep.parsing.parse_files import SUFFIXES

    parser.add_argument(
        "--parser", choices=[*PHRASE_PARSERS, *SUFFIXES], default="spacy", help="4.4.2 uses enju"
    )
    parser.add_argument(
        "--model", type=options.text, help="pipeline, folder of models or program of the parser"
    )
    parser.add_argument(
        "--parses", type=options.path, metavar="DIR", help="folder of parses, for enju-xml and conllu"
    )
    add_common(parser, "en")


def main(args) -> None:
    from data_prep.formats.structures import PHRASES
    from data_prep.parsing.options import ParsingJob
    from data_prep.parsing.parse_files import SUFFIXES
    from data_prep.parsing.step import run

    if (args.parser in SUFFIXES) != (args.parses is not None):
        needs = "needs --parses DIR" if args.parser in SUFFIXES else "parses itself, --parses is for files"
        raise InputError(f"--parser {args.parser}: {needs}")
    if args.parses and args.model:
        raise InputError(f"--model {args.model}: --parser {args.parser} reads parses; leave it out")
    run(from_arguments(ParsingJob, args), PHRASES, args.parses)
