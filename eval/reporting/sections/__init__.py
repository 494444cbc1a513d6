"""The sections of the report, in order.

To add one, write a file with `section(results) -> Section` and list it here. Each entry names the kind of
result file (its field "kind") that the section shows; the section is left out if no such file is given.
"""

from eval.reporting.sections import (
    adequacy,
    confusion,
    correlation,
    cosine,
    directions,
    indicators,
    interlingua,
    llr,
    off_target,
    pretraining_accuracy,
    provenance,
    retrieval,
    significance,
    similarity,
    summary,
    validation_curves,
)

SECTIONS = (
    ("scores", summary.section),
    ("scores", off_target.section),
    ("off-target", confusion.section),
    ("comparison", significance.section),
    ("scores", directions.section),
    ("scores", indicators.section),
    ("adequacy", adequacy.section),
    ("llr", llr.section),
    ("similarity", similarity.section),
    ("retrieval", retrieval.section),
    ("correlation", correlation.section),
    ("cosine", cosine.section),
    ("pretraining-accuracy", pretraining_accuracy.section),
    ("interlingua", interlingua.section),
    ("validation-curves", validation_curves.section),
    ("scores", provenance.section),
)
