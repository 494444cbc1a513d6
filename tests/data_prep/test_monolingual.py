"""Monolingual text through all steps gives the batches that it gave when it posed as a bitext."""

import json
import random

import numpy as np
import pytest

from data_prep.formats.preparation import Preparation
from data_prep.formats.structures import BUNSETSU, encode, write_structures
from fairseq_ext.tasks.linguistic_pretraining import LinguisticPretrainingConfig, LinguisticPretrainingTask

LINES = {"train": 40, "valid": 5}


@pytest.fixture(scope="module")
def sentences() -> dict[tuple[str, str], list[str]]:
    """Every line once, as many words on both sides, so that `clean` leaves them all in either form."""
    rng = random.Random(3)
    words = {"en": ["the", "cat", "sees", "some", "trees"], "ja": ["neko", "ga", "ki", "wo", "miru"]}
    found: dict[tuple[str, str], list[str]] = {}
    for split, count in LINES.items():
        for number in range(count):
            length = rng.randint(1, 7)
            for language, known in words.items():
                line = " ".join([f"{split}{number}", *rng.choices(known, k=length)])
                found.setdefault((split, language), []).append(line)
    return found


def prepare(step, write_corpus, root, texts: dict[str, list[str]]):
    """Every step up to the structures of the Japanese training text, whose words are bunsetsu."""
    write_corpus(root / "raw", texts)
    (japanese,) = [name for name in texts if name.startswith("train") and name.endswith("ja")]
    (root / "structures").mkdir()
    counts = [len(line.split()) for line in texts[japanese]]
    values = [encode(range(1, count), range(count)[::-1], []) for count in counts]
    write_structures(root / f"structures/{japanese}.bunsetsu", BUNSETSU, values)
    tokenized, subword, data = (("--output", root / name) for name in ("tok", "sub", "data"))
    made_of = (
        "--tokenized",
        root / "tok",
        "--subword",
        root / "sub",
        "--data",
        root / "data",
        "--workers",
        1,
    )
    for words in (
        ("clean", "--keep-duplicates", "--input", root / "raw", "--output", root / "clean", "--workers", 1),
        ("tokenize", "--tokenizer", "none", "--input", root / "clean", *tokenized, "--workers", 1),
        ("subword", "--merges", 30, "--input", root / "tok", *subword, "--workers", 1),
        ("binarize", "--input", root / "sub", "--text", root / "clean", *data, "--workers", 1),
        ("corpus-stats", "--input", root / "sub", "--output", root / "stats", "--no-plot", "--workers", 1),
        ("structures", "--input", root / "structures", *made_of, "--workers", 1),
    ):
        status, error = step(*words)
        assert status == 0, error
    return root / "data"


def batch(folder) -> dict:
    """All training examples in one batch."""
    options = {"pretraining_tasks": "ja=bmass+brss.f,en=mass", "train_subset": "train", "seed": 1}
    cfg = LinguisticPretrainingConfig(data=str(folder), **options)
    task = LinguisticPretrainingTask.setup_task(cfg)
    task.load_dataset("train")
    dataset = task.datasets["train"]
    dataset.set_epoch(1)
    return dataset.collater([dataset[index] for index in range(len(dataset))])


def flat(value, name="") -> dict[str, list]:
    if isinstance(value, dict):
        return {key: leaf for part in value for key, leaf in flat(value[part], f"{name}.{part}").items()}
    return {name: np.asarray(value).tolist()}


def test_the_batch_is_that_of_text_that_posed_as_a_bitext(step, write_corpus, tmp_path, sentences):
    own = {f"{split}.{language}": lines for (split, language), lines in sentences.items()}
    posing = {f"{split}.en-ja.{language}": lines for (split, language), lines in sentences.items()}
    found = batch(prepare(step, write_corpus, tmp_path / "own", own))
    expected = batch(prepare(step, write_corpus, tmp_path / "posing", posing))
    assert flat(found) == flat(expected)
    assert found["net_input"]["src_tokens"].shape[0] == 2 * LINES["train"]
    names = {path.name for path in (tmp_path / "own/data").glob("*.idx")}
    assert names == {f"{name}.idx" for name in own}
    preparation = Preparation.load(tmp_path / "own/data")
    lines = {split: {"en": count, "ja": count} for split, count in LINES.items()}
    assert (preparation.monolingual, preparation.pairs) == (lines, {})
    assert set(preparation.text_sha256) == {"valid.en", "valid.ja"}
    rows = json.loads((tmp_path / "own/stats/corpus_stats.json").read_text())["rows"]
    assert {(row["direction"], row["language"]) for row in rows if row["split"] == "train"} == {
        (direction, language) for direction in ("monolingual", "all") for language in ("en", "ja")
    }


def test_files_of_different_lengths_need_no_other_side(step, write_corpus, tmp_path, sentences):
    own = {f"{split}.{language}": lines for (split, language), lines in sentences.items()}
    own["train.en"] = own["train.en"][:7]
    data = prepare(step, write_corpus, tmp_path / "own", own)
    assert batch(data)["net_input"]["src_tokens"].shape[0] == 7 + LINES["train"]
