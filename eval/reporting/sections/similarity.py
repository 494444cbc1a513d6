"""SVCCA and linear CKA per encoder layer, as Figure E.1 of the thesis (`eval probe similarity`)."""

from eval.reporting.parts import Section
from eval.reporting.sections.layers import curves
from eval.results.result_set import ResultSet
from eval.results.runs import datasets_of, on, runs_of

NOTES = [
    "Similarity of the mean-pooled states of parallel sentences in two languages. It compares layers of one"
    " system; as E.1 of the thesis shows with PreNorm w/o Enc-Last, a high score on top of the encoder does"
    " not mean good zero-shot translation. By chance (dashed): the same with the sentences of one side in"
    " other orders; where that is high too, there are too few sentences for the number of directions."
]
MEASURES = {
    "svcca": ("SVCCA", "SVCCA (mean canonical correlation) per encoder layer."),
    "cka": ("linear CKA", "Linear CKA per encoder layer."),
}


def section(results: ResultSet) -> Section:
    groups = runs_of(results, "similarity")
    parts = []
    for dataset in datasets_of(groups):
        systems = on(groups, dataset)
        parts += [
            curves("similarity", systems, dataset, measure, *titles, chance=f"{measure}_by_chance")
            for measure, titles in MEASURES.items()
        ]
    return Section("Similarity of languages in the encoder", parts, NOTES)
