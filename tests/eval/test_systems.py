"""Scored folders as systems: what is a seed of one, and what is another system."""

import json
import re
from argparse import Namespace

import pytest

from command_line.errors import InputError
from eval.checks import group_runs
from eval.labels import column_titles, differing_axis, language_tag, layer_norm, order, residual
from eval.scored import Scores
from fairseq_ext.axes.record import describe
from fairseq_ext.data import language_tags
from fairseq_ext.modules import residual_block

TRANSLATION = {"_name": "weighted_losses", "losses": "translation", "label_smoothing": 0.1}
CONTRASTIVE = TRANSLATION | {"losses": "translation,word_contrastive"}
DIRECTIONS = {"en-de": ["Ein Mann.", "Zwei Kinder.", "Das Wetter.", "Ich auch."]}


def record(criterion=TRANSLATION, tags: str = "t-enc", seed: int = 1, origin: dict | None = None, **options):
    model = Namespace(**{"arch": "mnmt_transformer", "norm_placement": "post", **options})
    return describe({"model": model, "criterion": criterion, "common": {"seed": seed}}, tags, origin or {})


@pytest.fixture
def grouped(scored):
    """Function that scores systems of these records and groups them."""

    def group(*records: dict):
        outs = [
            scored(given["name"], DIRECTIONS, f"{number}", seed=given["seed"], system=given)
            for number, given in enumerate(records)
        ]
        return group_runs(Scores.load(out / "scores.json") for out in outs)

    return group


def test_a_loss_makes_another_system_not_another_seed(grouped):
    baseline, contrastive = grouped(record(seed=1), record(CONTRASTIVE, seed=10))
    assert baseline.name == "PostNorm T-ENC"
    assert contrastive.name == "PostNorm T-ENC +word_contrastive"
    assert [system.seeds for system in (baseline, contrastive)] == [[1], [10]]
    assert differing_axis(baseline, contrastive) == "losses"


def test_initialization_makes_another_system(grouped):
    jass = {"pretraining_tasks": {"ja": {"bmass": 1.0}}, "norm_placement": "post", "norm_affine": True}
    origins = [{"file": "a/b.pt", "sha256": digest * 32, "system": jass} for digest in ("12", "34")]
    records = [record(seed=1), *(record(seed=seed, origin=origin) for seed, origin in enumerate(origins, 1))]
    scratch, pretrained = grouped(*records)
    assert pretrained.seeds == [1, 2]  # of two pre-trainings of one system
    assert differing_axis(scratch, pretrained) == "initialization"


def test_two_systems_under_one_name_of_the_user_are_refused(grouped):
    message = "system.architecture_options is {'dropout': 0.3}, but {} in"
    with pytest.raises(InputError, match=re.escape(message)):
        grouped(record() | {"name": "mine"}, record(seed=2, dropout=0.3) | {"name": "mine"})


def change(out, direction: str, **fields) -> None:
    path = out / "scores.json"
    scores = json.loads(path.read_text(encoding="utf-8"))
    scores["directions"][direction] |= fields
    path.write_text(json.dumps(scores), encoding="utf-8")


@pytest.mark.parametrize(("name", "seed"), [("A", 2), ("B", 1)])
def test_other_references_under_one_name_of_a_dataset_are_refused(scored, name, seed):
    """Neither a mean over seeds nor one column of a table is of two test sets."""
    outs = [scored("A", DIRECTIONS, "first"), scored(name, DIRECTIONS, "second", seed=seed)]
    change(outs[1], "en-de", reference_sha256="ef" * 32)
    message = f"{outs[1]}/scores.json: direction en-de: reference_sha256 is {'ef' * 32}, but "
    with pytest.raises(InputError, match=re.escape(message)):
        group_runs(Scores.load(out / "scores.json") for out in outs)


def test_new_placements_are_shown_without_a_word_of_them_here(grouped, monkeypatch):
    norm = residual_block.NormPlacement("DoubleNorm", "", final_norm=True, apply=print)
    tags = language_tags.TagPlacement("T-END", encoder=(), decoder=False, source_ending=("target",))
    monkeypatch.setitem(residual_block.PLACEMENTS, "double", norm)
    monkeypatch.setitem(language_tags.PLACEMENTS, "t-end", tags)
    (system,) = grouped(record(tags="t-end", norm_placement="double"))
    assert system.name == "DoubleNorm T-END"
    assert (layer_norm(system), language_tag(system), residual(system)) == ("DoubleNorm", "T-END", "w/")
    assert column_titles([system]) == {system.name: ("T-END w/ Res.", "DoubleNorm")}
    assert order(system) > order(*grouped(record()))


def test_a_placement_that_is_not_registered_has_its_name(grouped):
    (system,) = grouped(record() | {"norm_placement": "of another version", "name": "A"})
    assert layer_norm(system) == "of another version"


def test_malformed_fields_of_axes(grouped):
    with pytest.raises(InputError, match=r"field 'system.norm_affine' is 3, expected true or false"):
        grouped(record() | {"norm_affine": 3})
