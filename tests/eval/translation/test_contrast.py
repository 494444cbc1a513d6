"""What a contrastive search is given: other sources and languages, and the command that asks for them."""

import json

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from eval.translation.beam_search import BeamSearch
from eval.translation.contrast import Contrast
from eval.translation.decoding import build_decoder, load_sources
from eval.translation.search_options import ContrastOptions, DecodingOptions, SearchOptions
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.data.multilingual_dataset import DirectionData
from fairseq_ext.data.sentence_pairs import CutSentences
from fairseq_ext.inference import load_for_inference
from tests.eval.translation.packages import write_checkpoint, write_data
from tests.eval.translation.test_contrastive_search import plain_contrast
from tests.fairseq_ext.models import toy_dictionary

DIRECTIONS = (("de", "fr"), ("en", "fr"), ("de", "en"))


def tags(placement: str = "s-enc-t-dec", exist: bool = True) -> LanguageTags:
    return LanguageTags(toy_dictionary(), ("de", "en", "fr"), placement, exist)


def part(language_tags: LanguageTags, direction, lines: int = 5) -> DirectionData:
    return part_of(language_tags, direction, [np.array([10 + line, 2]) for line in range(lines)])


def part_of(language_tags: LanguageTags, direction, sentences: list[np.ndarray]) -> DirectionData:
    sources = CutSentences(sentences, 60, 2, np.array([len(sentence) for sentence in sentences]))
    return DirectionData.with_tags(language_tags, direction, sources, None, sources.sizes, None)


def contrast(language_tags=None, **options) -> Contrast:
    return Contrast(ContrastOptions(**options), language_tags or tags())


def drawn(variant, number: int) -> list[int]:
    """The first word of every source that a part is contrasted with."""
    return [int(variant.parts[number].sources[line][0]) for line in range(len(variant.parts[number]))]


def test_other_sources_are_other_lines_of_the_same_text():
    language_tags = tags()
    parts = [part(language_tags, direction) for direction in DIRECTIONS]
    variants = contrast(language_tags, source_contrast=0.6, contrast_sources=3).variants(parts)
    assert [variant.weights for variant in variants] == [[pytest.approx(0.2)] * 3] * 3
    lists = [drawn(variant, number) for variant in variants for number in range(3)]
    for words in lists:
        assert set(words) <= set(range(10, 15))
        assert all(word != 10 + line for line, word in enumerate(words))
    assert len(set(map(tuple, lists))) > 4  # draws and directions differ
    alone = contrast(language_tags, source_contrast=0.5, contrast_sources=3).variants(parts[2:])
    assert [drawn(variant, 0) for variant in alone] == [
        drawn(variant, 2) for variant in variants
    ]  # whatever else there is
    other = contrast(language_tags, source_contrast=0.5, contrast_sources=3, contrast_seed=2).variants(
        parts[2:]
    )
    assert [drawn(variant, 0) for variant in other] != [drawn(variant, 0) for variant in alone]


def test_a_sentence_alone_has_no_other_source(capsys):
    language_tags = tags()
    (variant,) = contrast(language_tags, source_contrast=0.5).variants(
        [part(language_tags, ("de", "fr"), lines=1)]
    )
    assert (variant.weights, drawn(variant, 0)) == ([0.0], [10])
    assert "de-fr has one sentence at a time, no other source" in capsys.readouterr().err


@pytest.mark.parametrize("placement", ["s-enc-t-dec", "t-enc", "t-dec", "s-enc-t-enc", "mbart"])
def test_other_languages_are_english_and_the_sources_where_the_model_reads_the_target(placement):
    language_tags = tags(placement)
    parts = [part(language_tags, direction) for direction in DIRECTIONS]
    variants = contrast(language_tags, language_contrast=0.1).variants(parts)
    assert [variant.weights for variant in variants] == [[0.1, 0.1, 0.1], [0.1, 0, 0]]
    first, second = (variant.parts for variant in variants)
    into = [("de", "en"), ("en", "en"), ("de", "de")]
    for contrasted, direction in [*zip(first, into, strict=True), (second[0], ("de", "de"))]:
        source, target = direction
        assert contrasted.source_tags == language_tags.encoder_ids(source, target)
        assert contrasted.source_ending == language_tags.source_ending_ids(source, target)
        assert contrasted.target_tags == language_tags.decoder_ids(target)
        assert contrasted.decoder_start == language_tags.decoder_start_id(target)
    assert second[1:] == parts[1:]  # weight 0


def test_languages_that_are_named():
    contrasted = contrast(language_contrast=0.1, contrast_languages=["fr", "source", "de"])
    assert contrasted.languages_of(("de", "en")) == ["fr", "de"]
    assert contrasted.languages_of(("de", "fr")) == ["de"]


@pytest.mark.parametrize(
    ("options", "model", "message"),
    [
        (
            {"language_contrast": 0.1, "contrast_languages": ["xx"]},
            {},
            "--contrast-languages: 'xx': the model has no tag for it; expected some of de, en, fr, or source",
        ),
        (
            {"source_contrast": 0.7, "language_contrast": 0.15},
            {},
            "0.7 and --language-contrast 0.15 of 2 languages: expected less than 1 together",
        ),
        (
            {"language_contrast": 0.1},
            {"placement": "none"},
            "the model has no tags that name a target language",
        ),
        ({"language_contrast": 0.1}, {"exist": False}, "the model has no tags that name a target language"),
    ],
)
def test_what_cannot_be_contrasted(options, model, message):
    with pytest.raises(InputError) as caught:
        contrast(tags(**model), **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


# --- the whole way


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    root = tmp_path_factory.mktemp("contrast")
    data = write_data(root / "data")
    return write_checkpoint(root / "model.pt", data), data


@torch.no_grad()
def test_a_decoder_finds_what_the_equation_says(system):
    """Both contrasts of directions that share batches, one with two languages, one with one."""
    loaded = load_for_inference(*system)
    task, options = loaded.task, ContrastOptions(source_contrast=0.5, language_contrast=0.1)
    search = SearchOptions(beam=2, max_len_b=3)
    decoder = build_decoder(loaded, DecodingOptions(search, cpu=True), contrast=options)
    directions = [("de", "fr"), ("de", "en")]
    parts = [load_sources(task, system[1], "test", direction) for direction in directions]
    searched = {}
    for numbers, hypotheses in decoder.n_best(parts, 1):
        searched.update(zip(numbers, hypotheses, strict=True))
    variants = Contrast(options, task.tags).variants(parts)
    start = task.dictionary.eos()
    for number, (direction, own) in enumerate(zip(directions, parts, strict=True)):
        for line in range(len(own)):
            inputs, weights = [], []
            for each in (own, *(variant.parts[number] for variant in variants)):
                source = torch.tensor([[*each.source_tags, *np.asarray(each.sources[line])]])
                inputs.append((source, [start, *each.target_tags]))
            weights = [variant.weights[number] for variant in variants]
            assert weights == ([0.5, 0.1, 0.1] if direction == ("de", "fr") else [0.5, 0.1, 0])
            expected = plain_contrast([loaded.model], inputs, weights, search)
            expected = expected or plain_contrast([loaded.model], inputs[:1], [], search)
            ((words, score),) = searched[number * len(own) + line]
            stripped = [token for token in expected[0][1] if token not in task.tags.all_ids()]
            assert (words, score) == (stripped, pytest.approx(expected[0][0], abs=1e-4))


@pytest.mark.parametrize("sources", [1, 2])
def test_a_batch_has_room_for_the_sources_of_contrasts(system, sources):
    """Of short sentences, too, that are contrasted with long ones."""
    loaded, room = load_for_inference(*system), 96
    options = DecodingOptions(SearchOptions(beam=2, max_len_b=3), max_tokens=room, cpu=True)
    contrasts = ContrastOptions(source_contrast=0.5, contrast_sources=sources)
    decoder = build_decoder(loaded, options, contrast=contrasts)
    lengths = [3, 4, 24, 5, 3, 20, 4, 6, 3, 5, 18, 4]
    sentences = [np.array([*[5 + line] * (length - 1), 2]) for line, length in enumerate(lengths)]
    given = []
    loaded.model.encoder.register_forward_pre_hook(lambda _, inputs: given.append(tuple(inputs[0].shape)))
    parts = [part_of(loaded.task.tags, direction, sentences) for direction in (("de", "fr"), ("de", "en"))]
    searched = [number for numbers, _ in decoder.translate(parts) for number in numbers]
    assert sorted(searched) == list(range(24))
    assert sum(rows for rows, _ in given) >= 24 * (1 + sources)
    assert max(rows * width for rows, width in given) <= room
    assert max(rows for rows, _ in given) > 1 + sources  # short ones beside each other


@pytest.fixture
def translate(system, tmp_path, command):
    def run(name: str, *options):
        out = tmp_path / name
        result = command(
            "translate", "--checkpoint", system[0], "--data", system[1], "--output", out, "--cpu",
            "--max-len-b", "4", *options,
        )  # fmt: skip
        if result.status:
            return result
        texts = {path.name: path.read_bytes() for path in out.glob("*.txt")}
        return texts, json.loads((out / "translate.json").read_text())

    return run


def test_without_weights_a_translation_is_what_it_was(translate):
    plain, record = translate("plain")
    assert record["source_contrast"] is record["language_contrast"] is None
    zeros = ["--source-contrast", "0", "--language-contrast", "0", "--language-rescoring", "0"]
    assert translate("zeros", *zeros)[0] == plain
    contrasted, said = translate("both", "--source-contrast", "--language-contrast")
    assert (said["source_contrast"], said["language_contrast"]) == (0.7, 0.1)  # the publication's
    assert contrasted != plain and {
        name: text.count(b"\n") for name, text in contrasted.items()
    } == dict.fromkeys(plain, 4)
    again, _ = translate("again", "--source-contrast", "--language-contrast", "--max-tokens", "30")
    assert again == contrasted  # the draw does not depend on batches
    assert translate("some", "--source-contrast", "--language-contrast", "--directions", "de-fr")[0] == {
        "de-fr.txt": contrasted["de-fr.txt"]
    }


def test_what_a_search_costs_is_recorded(translate, monkeypatch):
    """Of all batches, also those that a run which was killed has translated."""
    costs = {}
    for name, options in {"plain": [], "contrasted": ["--source-contrast", "0.1"]}.items():
        costs[name] = translate(name, "--max-tokens", "12", *options)[1]["decoding"]
    assert costs["plain"]["sentences"] == 24 and costs["plain"]["seconds"] > 0
    assert costs["contrasted"]["decoder_tokens"] > 1.5 * costs["plain"]["decoder_tokens"]
    n_best, calls = BeamSearch.n_best, []

    def killed(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return n_best(self, *arguments, **options)

    monkeypatch.setattr(BeamSearch, "n_best", killed)
    with pytest.raises((KeyboardInterrupt, AssertionError, SystemExit)):
        assert isinstance(translate("interrupted", "--max-tokens", "12"), tuple)
    monkeypatch.setattr(BeamSearch, "n_best", n_best)
    continued = translate("interrupted", "--max-tokens", "12")[1]["decoding"]
    assert continued["decoder_tokens"] == costs["plain"]["decoder_tokens"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--source-contrast", "-0.1"],
            "--source-contrast: found '-0.1', expected a number from 0 below 1",
        ),
        (["--language-contrast", "--contrast-languages", "en,xx"], "'xx': the model has no tag for it"),
        (
            ["--language-contrast", "--engine", "ctranslate2"],
            "--language-contrast: not with --engine ctranslate2",
        ),
        (["--language-rescoring", "1", "--beam", "1"], "--language-rescoring: with --beam 1 there is one"),
        (["--contrast-sources", "2"], "--contrast-sources: only with --source-contrast"),
        (["--contrast-languages", "en"], "--contrast-languages: only with --language-contrast"),
        (["--rescoring-identifier", "x"], "--rescoring-identifier: only with --language-rescoring"),
        (
            ["--source-contrast", "--length-candidates", "2"],
            "--length-candidates 2: not with --source-contrast",
        ),
    ],
)
def test_nonsense_is_one_line(translate, options, message):
    result = translate("out", *options)
    assert result.status == 2
    assert message in result.err.splitlines()[-1]
