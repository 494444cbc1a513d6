"""The systems of a recipe's table differ on one axis, so that the stage report tests every pair of them."""

from itertools import combinations, takewhile
from pathlib import Path

import pytest

from tests.recipes.commands import RECIPES, dry_run, parse_trainings

OPTIONS = {
    "zero_shot": ["--config", "multi30k", "--systems", "1,2,5"],
    "interlingua": ["--config", "multi30k", "--systems", "mnmt,variable"],
    "word_contrastive": ["--config", "multi30k", "--systems", "mlsc,mlsc+align,mlsc+w2w,mlsc+FA,mlsc+sent"],
    "jass_enss": ["--config", "enja", "--spacy-model", "m", "--sizes", "3000", "--directions", "ja-en"],
    "quickstart": [],
}


def test_every_recipe_that_translates_is_here():
    assert set(RECIPES) - set(OPTIONS) == {
        "sentence_embedding", "distillation", "one_aligner", "dual_pivot", "post_pretraining",
        "crosslingual_evaluation",  # encode, and translate nothing
        "align_instruct",  # language models are on no axis of translation models: it names its pairs
    }  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_pairs_are_chosen_by_their_axes(name):
    """`eval compare` without a choice of pairs takes those that differ on one axis."""
    stages = [] if name == "quickstart" else ["--stages", "report"]
    (words,) = [words for words in dry_run(name, *OPTIONS[name], *stages) if words[3:4] == ["compare"]]
    assert not {"--against-first", "--baseline", "--all-pairs"} & set(words)


def trainings(name: str, stage: str) -> dict:
    return parse_trainings(dry_run(name, *OPTIONS[name], "--seeds", "1", "--stages", stage))


def axes_between(first: dict, second: dict) -> list[str]:
    """The axes on which two records differ."""
    from fairseq_ext.axes.record import choices

    one, other = choices(first), choices(second)
    return [axis for axis in one if one[axis] != other[axis]]


def record(args, tags: str | None = None, origin: dict | None = None) -> dict:
    """What a checkpoint of this training will say of its system."""
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    from fairseq_ext.axes.record import describe

    return describe(convert_namespace_to_omegaconf(args), tags, origin)


def test_every_two_of_what_is_added_to_a_baseline():
    found = trainings("word_contrastive", "train")
    records = {system: record(args, args.language_tags) for system, args in found.items()}
    assert len(records) == 5
    for pair in combinations(records, 2):
        assert axes_between(*(records[system] for system in pair)) == ["losses"], pair


def test_every_two_pretrainings():
    origins = {system: record(args) for system, args in trainings("jass_enss", "pretrain").items()}
    records = {}
    for name, args in trainings("jass_enss", "finetune").items():
        system = name.removesuffix("-3000-ja-en")
        origin = {"system": origins[system]} if args.pretrained_checkpoint else {}
        records[system] = record(args, "s-enc-t-dec", origin or None)
    assert list(records) == ["mass", "none", "jass", "enss", "mass+deshuffling"]
    for pair in combinations(records, 2):
        assert axes_between(*(records[system] for system in pair)) == ["initialization"], pair


def test_twice_the_updates_are_no_pair_of_one_axis():
    """A system with another schedule is not compared as if it had another placement of norms alone."""
    systems = ("1", "2", "2-long", "2-rate", "2-warmup")
    options = ["--config", "multi30k", "--systems", ",".join(systems), "--seeds", "1", "--stages", "train"]
    found = parse_trainings(dry_run("zero_shot", *options))
    one, *others = (record(found[f"system{system}"], "s-enc-t-dec") for system in systems)
    assert [len(axes_between(one, other)) for other in others] == [1, 2, 2, 2]


def test_a_table_of_several_axes_has_pairs_of_one():
    """PreNorm and PostNorm differ in that alone, PreNorm with and without the residual connection in that."""
    found = trainings("zero_shot", "train")
    one, two, five = (record(found[f"system{system}"], "s-enc-t-dec") for system in (1, 2, 5))
    assert len(axes_between(one, two)) == len(axes_between(one, five)) == 1
    assert len(axes_between(two, five)) == 2


def comparisons(name: str, *options: str) -> list[str]:
    """What follows `--pairs` in the command of the stage report, without what precedes the folders' names."""
    (words,) = [words for words in dry_run(name, *options, "--stages", "report") if words[3:4] == ["compare"]]
    if "--pairs" not in words:
        return []
    rest = words[words.index("--pairs") + 1 :]
    return [
        ":".join(Path(one).name for one in word.split(":"))
        for word in takewhile(lambda word: word[0] != "-", rest)
    ]


def test_pairs_that_claims_need_and_that_differ_in_more():
    """A variable length against fixed ones and MNMT: bridge and losses. Seeds of a system are one."""
    chosen = "--systems", "mnmt,fixed-universal,variable,variable+w2w", "--seeds", "10,20"
    assert comparisons("interlingua", "--config", "phrasebook", *chosen) == [
        "mnmt-seed10:fixed-universal-seed10",
        "mnmt-seed10:variable-seed10",
        "fixed-universal-seed10:variable-seed10",
        "mnmt-seed10:variable+w2w-seed10",
    ]
    chosen = "--systems", "0,1,2,4,1-simple", "--seeds", "1"
    assert comparisons("zero_shot", "--config", "multi30k", *chosen) == [
        "system1-seed1:system0-seed1",
        "system2-seed1:system0-seed1",
        "system2-seed1:system1-simple-seed1",
    ]
