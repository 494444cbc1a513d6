"""`eval probe contribution`: shares of the source and of tags, against derivatives by finite differences."""

from pathlib import Path

import pytest
import torch

from eval.api import TranslatorOptions, load_model
from eval.probes.gradient_contributions import contributions_of, shares
from eval.translation.fairseq_model import FairseqModel
from eval.translation.search_options import DecodingOptions
from tests.eval.rows import rows_of
from tests.eval.translation.packages import package, write_checkpoint, write_data
from tests.eval.translation.test_fairseq_preprocess import TEXT, with_byte_pairs
from tests.eval.translation.transformers_folders import WRITERS

STEP = 3e-3  # of a factor; norms of T5 compute in float32
CLOSE = 2e-3
OPTIONS = TranslatorOptions(decoding=DecodingOptions(cpu=True))


@pytest.fixture
def data(tmp_path) -> Path:
    return write_data(tmp_path / "data")


def system(tmp_path, data, **options):
    """A system of one layer per side whose matrices of embeddings are its own."""
    given = {"encoder_layers": 1, "decoder_layers": 1, **options}
    checkpoint = write_checkpoint(tmp_path / "model.pt", data, **given)
    return load_model(package(tmp_path / "system", data, checkpoint), options=OPTIONS)


def of_transformers(tmp_path, kind):
    (tmp_path / kind).mkdir()
    return load_model(WRITERS[kind](tmp_path / kind), options=OPTIONS)


def log_probabilities(logits, following) -> list[float]:
    log_p = logits[0].log_softmax(-1)
    return [log_p[place, token].item() for place, token in enumerate(following)]


def derivatives(read, count: int) -> list[list[float]]:
    """Of the log-probabilities of all predictions with respect to a factor of the n-th token, for all n.

    Args:
        read: log-probabilities of the predictions, of the number of a token and its factor.
    """
    slopes = []
    for number in range(count):
        above, below = read(number, 1 + STEP), read(number, 1 - STEP)
        slopes.append([abs(a - b) / (2 * STEP) for a, b in zip(above, below, strict=True)])
    return slopes


def expected_shares(slopes: list[list[float]], chosen: list[bool]) -> list[float]:
    """Of every prediction, by a plain loop."""
    rows = []
    for place in range(len(slopes[0])):
        total = sum(of_token[place] for of_token in slopes)
        rows.append(sum(of[place] for of, is_chosen in zip(slopes, chosen, strict=True) if is_chosen) / total)
    return rows


def test_our_models_against_finite_differences(tmp_path, data):
    """The embeddings of one token after the other are a little longer and shorter; none occurs twice."""
    reader = system(tmp_path, data)
    model = reader.hidden.model
    (row,) = reader.tokens(["w1 w2 w3"], ("de", "fr"), ["w20 w21"])
    ids, given = list(row.encoder), list(row.decoder)
    assert len({*ids}) == len(ids) and len({*given}) == len(given)
    following = [*given[1:], reader.eos]

    def read(number: int, factor: float) -> list[float]:
        side, token = (model.encoder, ids[number]) if number < len(ids) else (
            model.decoder, given[number - len(ids)]
        )  # fmt: skip
        weight = side.embed_tokens.weight.data
        before = weight[token].clone()
        weight[token] *= factor
        with torch.no_grad():
            logits, _ = model(torch.tensor([ids]), torch.tensor([len(ids)]), torch.tensor([given]))
        weight[token] = before
        return log_probabilities(logits, following)

    slopes = derivatives(read, len(ids) + len(given))
    source, tags, _ = shares(reader.hidden, [row], reader.tags, reader.eos)
    is_source = [number < len(ids) for number in range(len(slopes))]
    is_tag = [token in reader.tags for token in (*ids, *given)]
    assert any(is_tag)
    assert source[0].tolist() == pytest.approx(expected_shares(slopes, is_source), abs=CLOSE)
    assert tags[0].tolist() == pytest.approx(expected_shares(slopes, is_tag), abs=CLOSE)


@pytest.mark.parametrize("kind", ["nllb", "opus-mt-mul", "madlad"])
def test_models_of_transformers_against_finite_differences(tmp_path, kind):
    """Embeddings are given to the library's model in place of tokens."""
    reader = of_transformers(tmp_path, kind)
    model = reader.hidden.model.double()
    (row,) = reader.tokens(["Two children are playing."], ("en", "fr"), ["Deux enfants jouent."])
    given = [reader.hidden.begin, *row.decoder[1:]]
    sides = reader.hidden.sides
    with torch.no_grad():
        vectors = [sides["encoder"].embed_tokens(torch.tensor([row.encoder]))]
        vectors.append(sides["decoder"].embed_tokens(torch.tensor([given])))
        scale = getattr(sides["encoder"], "embed_scale", 1.0) if kind == "opus-mt-mul" else 1.0
    following, length = [*row.decoder[1:], reader.eos], len(row.encoder)

    def read(number: int, factor: float) -> list[float]:
        source, target = (vector.clone() * scale for vector in vectors)
        if number < length:
            source[0, number] *= factor
        else:
            target[0, number - length] *= factor
        with torch.no_grad():
            return log_probabilities(
                model(inputs_embeds=source, decoder_inputs_embeds=target).logits, following
            )

    slopes = derivatives(read, length + len(given))
    source, tags, attention = shares(reader.hidden, [row], reader.tags, reader.eos)
    assert source[0].tolist() == pytest.approx(
        expected_shares(slopes, [number < length for number in range(len(slopes))]), abs=CLOSE
    )
    is_tag = [token in reader.tags for token in (*row.encoder, *row.decoder)]
    assert tags[0].tolist() == pytest.approx(expected_shares(slopes, is_tag), abs=CLOSE)
    torch.testing.assert_close(attention.sum(2), torch.ones(1, len(following), dtype=torch.float64))


@pytest.mark.parametrize("tags", ["s-enc-t-dec", "t-enc", "embedded"])
def test_a_batch_is_its_lines(tmp_path, data, tags):
    """Padding of either side contributes nothing, and a forced tag is not predicted."""
    reader = system(tmp_path, data)
    lines, outputs = ["w1 w2 w3 w4 w5", "w2", "w9 w8 w7"], ["w20", "w21 w22 w23 w24", ""]
    together = contributions_of(reader, ("de", "fr"), lines, outputs, 1000)
    for line, output, contribution in zip(lines, outputs, together, strict=True):
        (alone,) = contributions_of(reader, ("de", "fr"), [line], [output], 1000)
        assert contribution == pytest.approx(alone, abs=1e-5)
        (row,) = reader.tokens([line], ("de", "fr"), [output])
        source, _, attention = shares(reader.hidden, [row], reader.tags, reader.eos)
        assert alone.source == pytest.approx(source[0, 1:].mean().item(), abs=1e-6)  # behind the tag
        words = [token not in (*reader.tags, reader.eos) for token in row.encoder]
        assert alone.attention_to_words == pytest.approx(
            attention[0, 1:, words].sum(1).mean().item(), abs=1e-6
        )


def test_a_model_that_looks_at_its_source_alone(tmp_path, data):
    """What the decoder reads is nothing: embeddings of zeros contribute zero."""
    reader = system(tmp_path, data)
    reader.hidden.model.decoder.embed_tokens.weight.data.zero_()
    (contribution,) = contributions_of(reader, ("de", "fr"), ["w1 w2"], ["w20 w21"], 1000)
    assert contribution.source == pytest.approx(1)


def test_stock_fairseq(tmp_path):
    case = with_byte_pairs(tmp_path / "data")
    files = {"data": case.folder, "bpe_codes": case.folder / "codes", "lowercase": True}
    reader = load_model(FairseqModel(case.folder / "model.pt", **files), options=OPTIONS)
    (contribution,) = contributions_of(reader, ("de", "en"), TEXT["de"][:1], TEXT["en"][:1], 1000)
    assert 0 < contribution.source < 1 and contribution.tags == 0 and 0 < contribution.attention_to_words < 1


@pytest.fixture
def translated(command, tmp_path, data):
    """A checkpoint and its translations."""
    checkpoint = write_checkpoint(tmp_path / "model.pt", data)
    given = ("--checkpoint", checkpoint, "--data", data)
    search = ("--cpu", "--max-len-b", 6, "--beam", 2)
    assert command("translate", *given, *search, "--output", tmp_path / "out").status == 0
    return given


def test_rows_on_and_off_target(command, tmp_path, data, translated, report):
    given = (tmp_path / "out", *translated, "--cpu", "--output", tmp_path / "probe")
    result = command("probe", "contribution", *given)
    assert result.status == 0, result.err
    rows = rows_of(tmp_path / "probe/contribution.csv", direction="de-fr")
    values = {(part, measure): value for part, measure, value in rows[["part", "measure", "value"]].values}
    counts = [values[part, "count"] for part in ("all", "on target", "off target")]
    assert counts[0] == 4 == counts[1] + counts[2]
    for measure in ("source_contribution", "tag_contribution", "attention_to_words"):
        weighted = sum(
            values[part, "count"] * values.get((part, measure), 0) for part in ("on target", "off target")
        )
        assert 0 < values["all", measure] < 1
        assert weighted / 4 == pytest.approx(values["all", measure])
    report(tmp_path / "probe/contribution.json")
    assert "What translations are predicted from" in (tmp_path / "report/report.html").read_text()


def test_refused(command, tmp_path, data, translated):
    other = write_checkpoint(tmp_path / "other.pt", data, seed=2)
    cases = [
        (
            (tmp_path / "out", "--checkpoint", other, "--data", data),
            "of another checkpoint than --checkpoint",
        ),
        ((tmp_path / "none", *translated), "none"),
        ((tmp_path / "out", *translated, "--bpe-codes", tmp_path / "no"), "no: no such file"),
    ]
    for given, message in cases:
        result = command("probe", "contribution", *given, "--cpu", "--output", tmp_path / "probe")
        assert result.status == 2 and message in result.err and result.err.count("\n") == 1, result.err
