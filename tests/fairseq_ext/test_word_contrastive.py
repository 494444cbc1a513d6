"""`word_contrastive` against loops over equations 5.1 to 5.3, and what the equations leave open."""

import pytest
import torch
import torch.nn.functional as F

from command_line.errors import InputError
from fairseq_ext.losses.weighted_loss import ModelOutputs
from fairseq_ext.losses.word_contrastive import WordContrastive, WordContrastiveOptions
from fairseq_ext.modules.surface_hashes import surface_hashes
from tests.fairseq_ext.encodings import (
    ALIGNED,
    SIZES,
    pad_further,
    random_batch,
    random_outputs,
    word_alignments,
)


def make(seed: int = 1, **options) -> WordContrastive:
    torch.manual_seed(seed)
    return WordContrastive(WordContrastiveOptions(**{"dim": 3, **options}), SIZES).double().eval()


def by_equations(
    loss: WordContrastive, outputs: ModelOutputs, rows, tokens: int, masks=None, alike=((), ())
) -> torch.Tensor:
    """Equations 5.1, 5.2 and 5.3 word by word; `masks` of dropout after the ReLU, for sources and targets.

    Sources, and targets, that are `alike` are no wrong answers in place of each other: pairs of row numbers.
    """
    temperature, weight = loss.options.temperature, loss.options.weight

    def g(x, mask=1):  # 5.2
        return loss.output.weight @ ((loss.hidden.weight @ x).clamp(min=0) * mask)

    def word(encoding, sentence, span):
        return sum(encoding["encoder_out"][0][t, sentence] for t in range(*span)) / (span[1] - span[0])

    def sim(x, y):  # 5.2
        return F.cosine_similarity(g(*x), g(*y), dim=0)

    s = [word(outputs.source, sentence, source) for sentence, source, _, _ in rows]
    t = [word(outputs.mirror, sentence, mirror) for sentence, _, mirror, _ in rows]
    n = range(len(rows))
    masks = [1] * 2 * len(rows) if masks is None else masks
    s, t = list(zip(s, masks, strict=False)), list(zip(t, masks[len(rows) :], strict=True))
    align = 0  # 5.1
    for k in n:
        sources, targets = ([m for m in n if {k, m} not in side] for side in alike)
        positive = (sim(s[k], t[k]) / temperature).exp()
        align = align - (positive / sum((sim(s[k], t[m]) / temperature).exp() for m in targets)).log()
        align = align - (positive / sum((sim(s[m], t[k]) / temperature).exp() for m in sources)).log()
    return weight * tokens / (2 * len(rows)) * align  # 5.3


def states(outputs: ModelOutputs) -> list[torch.Tensor]:
    return [outputs.source["encoder_out"][0], outputs.mirror["encoder_out"][0]]


@pytest.mark.parametrize("rows", [ALIGNED, ALIGNED[2:3], ALIGNED[:2] * 2], ids=["all", "one", "repeated"])
@pytest.mark.parametrize("options", [{}, {"temperature": 0.7, "weight": 2.0, "dim": 5}], ids=str)
def test_equals_the_equations(options, rows):
    loss, outputs = make(**options), random_outputs()
    inputs = [*states(outputs), *loss.parameters()]
    expected = by_equations(loss, outputs, rows, tokens=11)
    term = loss(outputs, random_batch(rows))
    torch.testing.assert_close(term.loss, expected)
    weight = loss.options.weight
    torch.testing.assert_close(term.value * weight * 11 / term.count, term.loss)
    assert (term.count, term.value.requires_grad) == (2 * len(rows), False)
    for found, reference in zip(
        torch.autograd.grad(term.loss, inputs), torch.autograd.grad(expected, inputs), strict=True
    ):
        torch.testing.assert_close(found, reference)


def test_dropout_of_the_projection_is_after_the_relu():
    loss, outputs = make(dropout=0.4).train(), random_outputs()
    torch.manual_seed(5)
    masks = F.dropout(torch.ones(2 * len(ALIGNED), 6, dtype=torch.double), 0.4)
    torch.manual_seed(5)
    found = loss(outputs, random_batch()).loss
    torch.testing.assert_close(found, by_equations(loss, outputs, ALIGNED, tokens=11, masks=masks))
    assert not torch.allclose(found, by_equations(loss, outputs, ALIGNED, tokens=11))


def test_defaults_are_the_thesis():
    options = WordContrastiveOptions()
    assert (options.weight, options.temperature, options.dim, options.dropout) == (0.1, 0.2, 128, 0.2)
    assert options.model_dropout is None  # the model keeps its own
    loss = WordContrastive(options, SIZES)
    shapes = {name: tuple(parameter.shape) for name, parameter in loss.named_parameters()}
    assert shapes == {"hidden.weight": (6, 6), "output.weight": (128, 6)}


def test_gradcheck():
    loss, outputs, batch = make(), random_outputs(), random_batch()

    def function(source, mirror, *parameters):
        encodings = ({"encoder_out": [x]} for x in (source, mirror))
        names = [name for name, _ in loss.named_parameters()]
        arguments = (ModelOutputs(*encodings), batch)
        return torch.func.functional_call(loss, dict(zip(names, parameters, strict=True)), arguments).loss

    assert torch.autograd.gradcheck(function, (*states(outputs), *loss.parameters()))


def test_the_gradient_reaches_the_words_of_both_sentences_and_nothing_else():
    loss, outputs = make(), random_outputs()
    rows = ALIGNED[:1]  # alone it has no wrong answers
    assert not torch.autograd.grad(loss(outputs, random_batch(rows)).loss, states(outputs))[0].any()
    source, mirror = torch.autograd.grad(loss(outputs, random_batch()).loss, states(outputs))
    for side, gradient in ((1, source), (2, mirror)):
        inside = {(t, row[0]) for row in ALIGNED for t in range(*row[side])}
        nonzero = {tuple(place) for place in gradient.abs().sum(-1).nonzero().tolist()}
        assert nonzero == inside


def test_padding_adds_nothing():
    loss, outputs, batch = make(), random_outputs(), random_batch()
    wider = ModelOutputs(pad_further(outputs.source), pad_further(outputs.mirror, 1))
    torch.testing.assert_close(loss(wider, batch).loss, loss(outputs, batch).loss, rtol=0, atol=0)


@pytest.mark.parametrize("options", [{}, {"drop_false_negatives": True}, {"gather_negatives": True}], ids=str)
def test_no_aligned_word_is_a_zero_that_touches_all_parameters(options):
    loss, outputs = make(**options).train(), random_outputs()
    term = loss(outputs, random_batch(rows=[]))
    term.loss.backward()
    assert (term.loss.item(), term.value.item(), term.count) == (0, 0, 0)
    for tensor in (*loss.parameters(), *states(outputs)):
        assert tensor.grad is not None
        assert not tensor.grad.any()


def test_dropout_is_that_of_the_projection_and_only_in_training():
    loss, outputs, batch = make(dropout=0.5), random_outputs(), random_batch()
    assert loss(outputs, batch).value == loss(outputs, batch).value
    loss.train()
    assert loss(outputs, batch).value != loss(outputs, batch).value
    words = torch.randn(4, 6, dtype=torch.float64)
    torch.manual_seed(5)
    kept = F.dropout(torch.ones(4, 6, dtype=torch.float64), 0.5)
    torch.manual_seed(5)
    expected = F.normalize(((words @ loss.hidden.weight.t()).relu() * kept) @ loss.output.weight.t(), dim=-1)
    torch.testing.assert_close(loss.project(words), expected)


def test_false_negatives():
    """Words 0 and 2 are spelled alike in the source, 1 and 4 in the target."""
    source, target = torch.tensor([7, 8, 7, 9, 10]), torch.tensor([1, 2, 3, 4, 2])
    generator = torch.Generator().manual_seed(1)
    x, y = (F.normalize(torch.randn(5, 3, generator=generator, dtype=torch.float64)) for _ in range(2))
    loss = make(drop_false_negatives=True)
    expected = 0
    for k in range(5):
        for one, other, surface in ((x, y, target), (y, x, source)):
            wrong = [m for m in range(5) if m != k and surface[m] != surface[k]]
            scores = torch.stack([one[k] @ other[m] for m in [k, *wrong]]) / 0.2
            expected = expected - scores.log_softmax(0)[0]
    torch.testing.assert_close(loss.contrast(x, y, source, target), expected)
    assert not torch.isclose(loss.contrast(x, y), expected)


def test_words_are_compared_by_their_tokens():
    tokens = torch.tensor([[5, 6, 7, 5, 6], [6, 5, 5, 6, 1]])
    sentence = torch.tensor([0, 0, 1, 1, 0, 1])
    spans = torch.tensor([[0, 2], [3, 5], [0, 2], [2, 4], [0, 1], [1, 2]])  # 5 6, 5 6, 6 5, 5 6, 5, 5
    hashes = surface_hashes(tokens, sentence, spans).tolist()
    assert [hashes.index(each) for each in hashes] == [0, 0, 2, 0, 4, 4]
    nothing = word_alignments([])
    assert surface_hashes(tokens, nothing["sentence"], nothing["source"]).shape == (0,)


def test_false_negatives_are_found_in_the_batch():
    """With one word of vocabulary, spans of equal length are spelled alike."""
    outputs, rows = random_outputs(), [ALIGNED[2], (0, (2, 3), (2, 3), (2, 3))]
    term = make(drop_false_negatives=True)(outputs, random_batch(rows, words=1))
    assert term.value.item() == pytest.approx(0)
    assert make()(outputs, random_batch(rows, words=1)).value > 0.01


def test_each_side_of_the_batch_has_its_own_false_negatives():
    """Words 0 and 2 are spelled alike in the source, 3 and 4 in the mirror, and no others."""
    loss, outputs, batch = make(drop_false_negatives=True), random_outputs(), random_batch()
    source, mirror = torch.arange(4, 19).view(3, 5), torch.arange(4, 19).view(3, 5)
    source[1, 1] = source[0, 0]
    mirror[2, 2:4] = mirror[2, 0:2]
    batch |= {"net_input": {"src_tokens": source}, "mirror": {"src_tokens": mirror}}
    expected = by_equations(loss, outputs, ALIGNED, tokens=11, alike=([{0, 2}], [{3, 4}]))
    torch.testing.assert_close(loss(outputs, batch).loss, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0}, "--word-contrastive-temperature 0: expected a number above 0"),
        ({"dim": 0}, "--word-contrastive-dim 0: expected a number above 0"),
        ({"dropout": 1}, "--word-contrastive-dropout 1: expected a number from 0 to below 1"),
    ],
    ids=str,
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        make(**options)


def test_bfloat16_autocast_is_close():
    loss, outputs, batch = make().float(), random_outputs(dtype=torch.float32), random_batch()
    expected = loss(outputs, batch).value
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = loss(outputs, batch).value
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0)
