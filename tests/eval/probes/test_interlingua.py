"""`python -m eval probe interlingua`: lengths and similarities of a small model, and the report's section."""

import contextlib
import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from eval.probes.interlingua import Options
from eval.probes.interlingua_numbers import (
    GivenLengths,
    of_pair,
    predicted_lengths,
    right_lengths,
    similarities,
)
from eval.reporting.result_file import Written
from eval.translation.decoding import Decoder, sources_of
from eval.translation.evaluated_model import EvaluatedModel
from eval.translation.search_options import DecodingOptions, LengthOptions
from tests.eval.rows import write_measured
from tests.fairseq_ext import bridges
from tests.fairseq_ext.folders import write_dictionaries, write_pair

LINES = 7


@pytest.fixture
def task():
    task = bridges.TaggedTask()
    task.max_positions = lambda: (20, 20)
    task.autocast = lambda sample: contextlib.nullcontext()
    return task


@pytest.fixture
def sentences(tmp_path):
    """Sets of all pairs: pair -> both sides, token ids with `</s>`; the 4th German sentence is too long."""
    rng = np.random.default_rng(1)
    by_pair = {}
    write_dictionaries(tmp_path, ["de", "en", "fr"])
    for pair in ("de-en", "de-fr", "en-fr"):
        sides = [
            [[*rng.integers(4, 30, rng.integers(1, 9)).tolist(), 2] for _ in range(LINES)] for _ in range(2)
        ]
        if pair.startswith("de"):
            sides[0][3] = [5] * 25 + [2]
        write_pair(tmp_path, "test", pair, *sides)
        by_pair[pair] = sides
    return by_pair


def by_measure(rows: list[dict], **wanted) -> dict[str, float]:
    """Measure -> its number, of the rows that hold what is wanted."""
    return {
        row["measure"]: row["value"]
        for row in rows
        if all(row.get(name) == value for name, value in wanted.items())
    }


def decoder_of(task, kind: str = "variable") -> Decoder:
    loaded = SimpleNamespace(task=task, model=bridges.build(kind, task).eval())
    return Decoder(loaded, None, max_tokens=60, device=torch.device("cpu"))


def options_of(data, max_lines: int | None = None, samples: int = 9999) -> Options:
    model = EvaluatedModel(Path("best.pt"), data)
    return Options(
        model=model,
        max_lines=max_lines,
        samples=samples,
        decoding=DecodingOptions(),
        lengths=LengthOptions(),
        written=Written(output=data / "probe"),
    )


def test_right_lengths_are_those_of_training(task, sentences, tmp_path):
    decoder = decoder_of(task)
    results = right_lengths(decoder, options_of(tmp_path), ("de", "en")).tolist()
    assert results == [len(sentence) + 1 for sentence in sentences["de-en"][1]]  # the tag counts
    decoder.model.encoder.lengths.longest = 4
    assert max(right_lengths(decoder, options_of(tmp_path), ("de", "en"))) == 4


def test_predicted_lengths_are_in_the_order_of_the_sentences(task, sentences):
    decoder, rows = decoder_of(task), [np.array(sentence) for sentence in sentences["de-en"][0]]
    part = sources_of(task, ("de", "en"), rows, np.array([len(row) for row in rows]))
    encoder = decoder.model.encoder
    expected = [
        int(encoder(torch.tensor([[task.tags.id_of("de"), *part.sources[i]]]))["interlingua_lengths"][0])
        for i in range(LINES)
    ]
    assert predicted_lengths(decoder, part).tolist() == expected
    assert len(set(expected)) > 1


def test_given_lengths_reach_the_encoder(task, sentences):
    seen = []

    def n_best(src_tokens, src_lengths, prefix, count, **encoder_arguments):
        seen.extend(zip(src_lengths.tolist(), encoder_arguments["interlingua_lengths"].tolist(), strict=True))
        return [[([5], 0.0)]] * len(src_tokens)

    decoder = decoder_of(task)
    decoder.search = SimpleNamespace(n_best=n_best)
    rows = [np.array(sentence) for sentence in sentences["de-fr"][1]]
    part = sources_of(task, ("fr", "de"), rows, np.array([len(row) for row in rows]))
    part.fields["encoder_arguments"] = GivenLengths(np.array([len(row) + 10 for row in rows]))
    assert sum(len(tokens) for _, tokens in decoder.translate([part])) == LINES
    assert sorted(seen) == sorted((len(row) + 1, len(row) + 10) for row in rows)


@pytest.mark.parametrize("kind", ["variable", "fixed-universal"])
@pytest.mark.parametrize("pair", [("de", "en"), ("de", "fr"), ("en", "fr")])
def test_similarity_is_the_mean_cosine_of_positions(task, sentences, tmp_path, kind, pair):
    decoder = decoder_of(task, kind)
    encoder = decoder.model.encoder
    sides = dict(zip(pair, sentences["-".join(pair)], strict=True))
    first, second = pair[::-1] if kind == "variable" and pair[1] == "en" else pair
    cosines = []
    for a, b in zip(sides[first], sides[second], strict=True):
        if max(len(a), len(b)) > 19:
            continue
        x = encoder(torch.tensor([[task.tags.id_of(first), *a]]))
        y = encoder(
            torch.tensor([[task.tags.id_of(second), *b]]), interlingua_lengths=x["interlingua_lengths"][0]
        )
        length = int(x["interlingua_lengths"][0])
        h, h_mirror = x["encoder_out"][0][:, 0], y["encoder_out"][0][:, 0]
        cosines.append(
            sum(float(F.cosine_similarity(h[i], h_mirror[i], dim=0).detach()) for i in range(length)) / length
        )
    rows = of_pair(decoder, options_of(tmp_path), pair)
    results = by_measure(rows)
    assert results["cosine"] == pytest.approx(np.mean(cosines), abs=1e-5)
    assert results["lines"] == len(cosines) == (6 if pair[0] == "de" else 7)
    assert {row["kind"] for row in rows} == {"supervised" if "en" in pair else "zero-shot"}
    assert results["cosine_by_chance"] != pytest.approx(results["cosine"], abs=1e-3)


@pytest.mark.parametrize("kind", ["variable", "fixed-universal"])
def test_similarity_by_chance_is_that_of_the_other_translation(task, sentences, tmp_path, kind):
    """Of two pairs, as far as both interlinguas reach."""
    decoder = decoder_of(task, kind)
    encoder = decoder.model.encoder
    sources, mirrors = [], []
    for english, french in zip(*(side[:2] for side in sentences["en-fr"]), strict=True):
        x = encoder(torch.tensor([[task.tags.id_of("en"), *english]]))
        y = encoder(
            torch.tensor([[task.tags.id_of("fr"), *french]]), interlingua_lengths=x["interlingua_lengths"][0]
        )
        sources.append(x["encoder_out"][0][:, 0])
        mirrors.append(y["encoder_out"][0][:, 0])
    shortest = min(map(len, sources))
    assert (len(sources[0]) == len(sources[1])) == (kind == "fixed-universal")
    cosines = [
        float(F.cosine_similarity(sources[own][i], mirrors[1 - own][i], dim=0).detach())
        for own in (0, 1)
        for i in range(shortest)
    ]
    results = by_measure(of_pair(decoder, options_of(tmp_path, max_lines=2), ("en", "fr")))
    assert results["cosine_by_chance"] == pytest.approx(np.mean(cosines), abs=1e-5)
    assert results["cosine_by_chance"] != pytest.approx(results["cosine"], abs=1e-3)


def test_all_pairs_and_the_first_lines(task, sentences, tmp_path):
    results = similarities(decoder_of(task), options_of(tmp_path, max_lines=3))
    lines = {row["direction"]: row["value"] for row in results if row["measure"] == "lines"}
    assert lines == {"de-en": 3, "de-fr": 3, "en-fr": 3}


def test_right_lengths_are_tested_over_all_languages(monkeypatch):
    """BLEU of both, and p-values corrected over the source languages; the search itself is put in."""
    from eval.probes import interlingua_numbers as module

    references = [f"a line of the test set with the number {i}" for i in range(60)]
    better = {"de": 40, "fr": 2}  # so many lines are translated with right lengths only

    def translated(decoder, args, part, task):
        source, which = task.split(", ")
        right = which == "right lengths"
        return [line if i >= better[source] or right else "a line" for i, line in enumerate(references)]

    monkeypatch.setattr(module, "translated", translated)
    monkeypatch.setattr(module, "with_data", lambda data, split, directions: directions)
    monkeypatch.setattr(module, "build_decoder", lambda *_: None)
    monkeypatch.setattr(module, "load_sources", lambda *_: references)
    monkeypatch.setattr(module, "replace", lambda part, **_: part)
    monkeypatch.setattr(module, "raw_lines", lambda *_: (references, references))
    for name, lengths in (("right_lengths", [4, 5, 6]), ("predicted_lengths", [4, 8, 5])):
        monkeypatch.setattr(module, name, lambda *_, lengths=lengths: np.array(lengths * 20))
    tags = SimpleNamespace(languages=["en", "de", "fr"])
    encoder = SimpleNamespace(centric=0)
    decoder = SimpleNamespace(task=SimpleNamespace(tags=tags), model=SimpleNamespace(encoder=encoder))
    rows = module.predictions(decoder, None, options_of(Path(), samples=999))
    results = {language: by_measure(rows, part=language) for language in ("de", "fr")}
    assert results["de"]["bleu_gold"] == pytest.approx(100.0) and results["de"]["bleu_predicted"] < 90
    assert (results["de"]["p_value"], results["de"]["adjusted_p_value"]) == (0.001, 0.002)
    assert (results["de"]["gold_is_better"], results["fr"]["gold_is_better"]) == (True, False)
    assert results["fr"]["p_value"] == results["fr"]["adjusted_p_value"] > 0.05
    for entry in results.values():  # one of three is right, one has three tokens too many, one lacks one
        assert entry["accuracy"] == pytest.approx(1 / 3)
        assert (entry["absolute_error"], entry["mean_length"]) == pytest.approx((4 / 3, 5))
        assert entry["bias"] == pytest.approx((3 - 1) / 3)


def test_too_few_samples_are_refused_before_anything_is_translated(monkeypatch):
    """With 18 of two languages the smallest p-value is 2/19."""
    from eval.probes import interlingua_numbers as module

    monkeypatch.setattr(module, "with_data", lambda data, split, directions: directions)
    decoder = SimpleNamespace(
        task=SimpleNamespace(tags=SimpleNamespace(languages=["en", "de", "fr"])),
        model=SimpleNamespace(encoder=SimpleNamespace(centric=0)),
    )
    with pytest.raises(
        InputError, match=r"--samples 18: .* for 2 tests at level 0.05 needs at least 39 samples"
    ):
        module.predictions(decoder, None, options_of(Path(), samples=18))


# --- the section of the report


def write_findings(folder, name: str, seed: int, accuracy: float, is_better: bool, lengths: bool = True):
    values = {
        "lines": 10, "absolute_error": 3.3, "bias": -1.0, "mean_length": 12.0, "bleu_predicted": 34.0,
        "bleu_gold": 35.2, "gold_is_better": is_better,
    }  # fmt: skip
    rows = numbers({"lines": 10, "cosine": 0.9}, kind="supervised", direction="de-en")
    for language, value in (("de", accuracy), ("fr", 0.4)) if lengths else ():
        rows += numbers(values | {"accuracy": value}, part=language)
    run = {"system": {"name": name, "seed": seed}, "dataset": "toy", "split": "test"}
    measured = Measured()
    measured.add(run | {"search": {"beam": 5}, "length_candidates": 1}, rows)
    return write_measured(folder, "interlingua", measured)


def test_the_section_is_table_7_5(report, tmp_path, row_of):
    files = [
        write_findings(tmp_path / "1", "A", 1, 0.2, True),
        write_findings(tmp_path / "2", "A", 2, 0.3, True),
        write_findings(tmp_path / "3", "B", 1, 0.2, True),
        write_findings(tmp_path / "5", "B", 2, 0.2, False),
        write_findings(tmp_path / "4", "fixed", 1, 0, False, lengths=False),
    ]
    page = (report(*files) / "report.md").read_text(encoding="utf-8")
    assert "| A | 2 | Acc. of Len. Pre. (%) | 25.0 ± 7.1 | 40.0 ± 0.0 | 32.5 ± 3.5 |" in page
    assert "| A | 2 | BLEU w/ gold | 35.2 ± 0.0† | 35.2 ± 0.0† | 35.2 ± 0.0 |" in page
    assert page.count("†") == 3  # both languages of A, and the note; one seed of B is not better
    with open(tmp_path / "report/tables/interlingua_lengths_toy.csv", encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["measure"] == "accuracy"]
    assert [(row["system"], row["seed"], row["part"], row["value"]) for row in rows][:3] == [
        ("A", "1", "de", "0.2"), ("A", "1", "fr", "0.4"), ("A", "2", "de", "0.3"),
    ]  # fmt: skip
    assert {row["system"] for row in rows} == {"A", "B"}
    assert "fixed" in (tmp_path / "report/tables/interlingua_similarity_toy.csv").read_text(encoding="utf-8")
    html = (tmp_path / "report/report.html").read_text(encoding="utf-8")
    assert row_of(html, "Pair") == ["A", "A, by chance", "B", "B, by chance", "fixed", "fixed, by chance"]
    assert row_of(html, "de-en") == ["0.900", "–"] * 3


@pytest.mark.parametrize("name", ["test.de-en.de.bin", "dict.de.txt", "text/test.de-en.en"])
def test_another_test_set_is_measured_anew(command, tmp_path, monkeypatch, name):
    """Under the same preparation.json."""
    (tmp_path / "best.pt").write_bytes(b"")
    (tmp_path / "data/text").mkdir(parents=True)
    for file in ("preparation.json", "dict.de.txt", "test.de-en.de.bin", "text/test.de-en.en"):
        (tmp_path / "data" / file).write_text("{}")
    measured = []

    def measure(options) -> Measured:
        measured.append(options.split)
        results = Measured()
        results.add({"system": {"name": "A"}, "dataset": "toy"}, numbers({"cosine": 1.0}, direction="de-en"))
        return results

    monkeypatch.setattr("eval.probes.interlingua.measure", measure)
    words = ("--checkpoint", tmp_path / "best.pt", "--data", tmp_path / "data", "--output", tmp_path / "out")
    for _ in range(2):
        assert command("probe", "interlingua", *words).status == 0
    assert measured == ["test"]
    (tmp_path / "data" / name).write_text("other")
    assert command("probe", "interlingua", *words).status == 0
    assert measured == ["test", "test"]


def test_a_missing_checkpoint_is_one_line(command, tmp_path):
    result = command(
        "probe", "interlingua", "--checkpoint", tmp_path / "no.pt", "--data", tmp_path, "--output", tmp_path
    )
    assert result.status == 2
    expected = "expected a fairseq checkpoint, or a folder of `python -m fairseq_ext package`"
    assert result.err == f"error: {tmp_path}/no.pt: no such file; {expected}\n"
