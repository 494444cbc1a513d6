"""The interlingua of a checkpoint: how well its length is predicted, and how alike it is across languages.

Lengths (thesis 7.4.3, Table 7.5): for every language paired with the centric one, how often the predicted
length of the interlingua is that of the translation, how far it is off, and BLEU into the centric language
with predicted and with right lengths. Models with a fixed length have none.

Similarity: the mean cosine between the interlinguas of parallel sentences, position by position (1 - L_IA of
equation 7.6), for every pair of languages; and for sentences that do not belong together.
"""

from dataclasses import asdict, dataclass

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from eval.reporting.exhibits import Figure, Section, Table, cell, cells, mean_cell, number_cell, slug, tidy
from eval.reporting.plots import heatmap
from eval.reporting.result_file import add_output_arguments, publish
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System, by_dataset
from eval.translation.evaluated_model import EvaluatedModel, add_model_arguments, add_name_arguments
from eval.translation.search_options import (
    DecodingOptions,
    LengthOptions,
    add_decoding_arguments,
    add_length_arguments,
)

KIND = "interlingua"
LEVEL = 0.05
MEASURES = {  # as the rows of Table 7.5
    "accuracy": ("Acc. of Len. Pre. (%)", 100.0),
    "absolute_error": ("Avg. of |Len. Pre. - gold|", 1.0),
    "bleu_predicted": ("BLEU w/ Len. Pre.", 1.0),
    "bleu_gold": ("BLEU w/ gold", 1.0),
}
COUNTED = ("lines", "mean_length", "bias", *MEASURES, "p_value", "adjusted_p_value")
NOTES = [
    "Lengths: translation into the centric language with the predicted length of the interlingua and with the"
    " right one, that of the reference. †: significantly better with all seeds (paired approximate"
    f" randomization, p <= {LEVEL} after Holm's correction over the languages)."
    " Similarity: mean cosine between the interlinguas of parallel sentences, position by position;"
    ' "by chance": between sentences that do not belong together.'
]


@dataclass(frozen=True)
class Options:
    """Options of the probe.

    Attributes:
        split: that is translated into the centric language of the model.
        max_lines: only the first lines of every set; None for all.
        samples: of the significance test.
    """

    model: EvaluatedModel
    split: str
    max_lines: int | None
    samples: int
    decoding: DecodingOptions
    lengths: LengthOptions


def add_arguments(parser) -> None:
    add_model_arguments(parser)
    parser.add_argument("--split", type=types.split, default="test", help="which set")
    parser.add_argument(
        "--max-lines", type=types.positive, help="only the first lines of every set (default: all)"
    )
    parser.add_argument("--samples", type=types.positive, default=9999, help="of the significance test (7.4)")
    add_decoding_arguments(parser)
    add_length_arguments(parser)
    add_name_arguments(parser)
    add_output_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(Options, args)
    model, split = options.model, options.split
    texts = sorted((model.data / "text").glob(f"{split}.*"))  # the references of BLEU
    inputs = [*model.checkpoints, *model.data_files([split]), *texts]
    publish(KIND, options, inputs, lambda: measure(options), args)


def measure(options: Options) -> dict:
    return {"runs": [run(options)]}


def run(options: Options) -> dict:
    """The run of one checkpoint."""
    from eval.probes.interlingua_lengths import predictions
    from eval.probes.interlingua_similarity import similarities
    from eval.translation.decoding import build_decoder

    model = options.model
    loaded = model.load()
    encoder = loaded.model.encoder
    if not hasattr(encoder, "interlingua"):
        raise InputError(f"{model.checkpoint}: has no interlingua, expected --arch interlingua_transformer")
    decoder = build_decoder(loaded, options.decoding, options.lengths)
    return {
        **model.provenance(loaded),
        "split": options.split,
        "search": asdict(options.decoding.search),
        "length_candidates": options.lengths.length_candidates,
        "lengths": {} if encoder.centric is None else predictions(decoder, loaded, options),
        "similarity": similarities(decoder, options),
    }


# --- the section of the report


def section(results: ResultSet) -> Section:
    exhibits = []
    for dataset, systems in by_dataset(results.probed(KIND)).items():
        if any(run["lengths"] for system in systems for run in system.records):
            exhibits.append(lengths(systems, dataset))
        exhibits.append(similarity(systems, dataset))
    return Section("Interlingua", exhibits, NOTES)


def lengths(systems: list[System], dataset: str) -> Table:
    """Table 7.5: four rows per system, one column per source language, and their mean."""
    predicting = [one for system in systems if (one := system.only(lambda run: bool(run.record["lengths"])))]
    languages = sorted({language for one in predicting for run in one.records for language in run["lengths"]})
    rows, rules, data = [], set(), []
    for system in predicting:
        rules.add(len(rows))
        for measure, (title, scale) in MEASURES.items():
            shown = []
            for language in languages:
                mark = "†" if measure == "bleu_gold" and is_better(system, language) else ""
                shown.append(mean_cell(system.mean("lengths", language, measure, scale=scale), 1, mark))
            mean = MeanStd.of(
                sum(scale * entry[measure] for entry in run["lengths"].values()) / len(run["lengths"])
                for run in system.records
            )
            rows.append([*cells(system.name, len(system.runs), title), *shown, mean_cell(mean, 1)])
        data += [
            [
                *[dataset, system.name, seed, run["length_candidates"], language],
                *(entry[name] for name in COUNTED),
            ]
            for seed, run in system.labelled()
            for language, entry in run["lengths"].items()
        ]
    caption = (
        f"Accuracy of the length predictor, mean absolute error in tokens, and BLEU with predicted and with"
        f" right lengths on {dataset}, by source language, as in Table 7.5; mean ± deviation over seeds."
    )
    titles = ["dataset", "system", "seed", "length_candidates", "language", *COUNTED]
    header = [cells("System", "Seeds", "", *languages, "Avg.")]
    name = slug("interlingua_lengths", dataset)
    return Table(name, caption, header, rows, frozenset(rules - {0}), data=tidy(titles, data))


def is_better(system: System, language: str) -> bool:
    """Whether right lengths are significantly better than predicted ones, with every seed."""
    return all(
        entry and entry["adjusted_p_value"] <= LEVEL and entry["bleu_gold"] > entry["bleu_predicted"]
        for entry in system.values("lengths", language)
    )


def similarity(systems: list[System], dataset: str) -> Figure:
    """Systems by pairs of languages, each system with its similarity by chance."""
    pairs = sorted({pair for system in systems for run in system.records for pair in run["similarity"]})
    names, grid, data = [], [], []
    numbers = ("lines", "cosine", "cosine_by_chance")
    for system in systems:
        for measure, label in (("cosine", system.name), ("cosine_by_chance", f"{system.name}, by chance")):
            names.append(label)
            grid.append([system.mean("similarity", pair, measure) for pair in pairs])
        data += [
            [dataset, system.name, seed, entry["kind"], pair, *(entry[name] for name in numbers)]
            for seed, run in system.labelled()
            for pair, entry in run["similarity"].items()
        ]
    rows = [
        [cell(pair), *(number_cell(value and value.mean, ".3f") for value in column)]
        for pair, column in zip(pairs, zip(*grid, strict=True), strict=True)
    ]
    caption = f"Cosine between the interlinguas of parallel sentences on {dataset}, mean over seeds."
    name = slug("interlingua_similarity", dataset)
    percent = [[None if v is None else max(0.0, 100 * v.mean) for v in row] for row in grid]
    png = heatmap(names, pairs, percent, "cosine x 100", [])
    titles = ["dataset", "system", "seed", "kind", "pair", *numbers]
    table = Table(name, caption, [cells("Pair", *names)], rows, data=tidy(titles, data), folded=True)
    return Figure(name, caption, png, table)
