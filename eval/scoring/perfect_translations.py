"""What a perfect translation would score: references that do not come back from the model's tokenizer and
subwords cannot be reached.
"""

import os
import sys

from command_line.errors import InputError
from command_line.lines import read_lines
from data_prep.bleu import bleu_metric
from data_prep.formats.preparation import FILE_NAME, Preparation
from data_prep.round_trips import RoundTrips
from eval.scored import Translation
from eval.scoring.scoring_options import Tokenization
from eval.scoring.surface_metrics import surface_scores
from eval.scoring.test_sets import DirectionFiles

FULL = 99.95  # what is shown as 100.0


def warn_of_unreachable_references(
    translation: Translation, files: list[DirectionFiles], tokenization: Tokenization
) -> None:
    """Say for every set of references below what BLEU and chrF++ a perfect translation stays."""
    folder = files[0].reference.parent.parent
    # without a dictionary, the model has subwords of its own
    if not translation.record["data"].get("dictionary_sha256") or not os.path.lexists(folder / FILE_NAME):
        return
    preparation = Preparation.load(folder)
    for path, language in {file.reference: file.target_language for file in files}.items():
        if language not in preparation.tokenizers:
            continue
        references = list(read_lines(path))
        try:
            perfect = [
                preparation.detokenize(language, preparation.segment(language, line)) for line in references
            ]
        except InputError as error:  # what the tokenizer needs is not installed: the scores do not need it
            print(f"warning: {path}: whether references come back is not known: {error}", file=sys.stderr)
            continue
        bleu = bleu_metric(language, tokenization.of(language), tokenization.tokenizer_model)
        scores, _ = surface_scores(bleu, perfect, references, references)
        if min(scores["bleu"], scores["chrf"]) >= FULL:
            continue
        trips = RoundTrips.of(zip(references, perfect, strict=True), path)
        print(
            f"warning: a perfect translation scores BLEU {scores['bleu']:.1f} and chrF++"
            f" {scores['chrf']:.1f}: {trips.shown_percentage} of the references come back from tokenizer"
            f" {preparation.tokenizers[language]} and the subwords; {trips.first_change}",
            file=sys.stderr,
        )
