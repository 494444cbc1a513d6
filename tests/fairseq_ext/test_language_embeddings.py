"""Language embeddings against stock fairseq, whose embedding matrices have the language added."""

import copy
from argparse import Namespace

import pytest
import torch
from fairseq.models.transformer import TransformerConfig, TransformerModelBase, base_architecture

import fairseq_ext  # noqa: F401 (registers)
from command_line.errors import InputError
from eval.probes.hidden_states import forced_states
from tests.fairseq_ext.folders import write_toy_folder
from tests.fairseq_ext.models import SIZES, ToyTask
from tests.fairseq_ext.test_multilingual_nmt import make_task

EMBEDDED = ["embedded", "embedded-t-enc"]
SIDES = {"embedded": ("de",), "embedded-t-enc": ("de", "fr")}  # on the encoder, of de-fr
PLAIN = dict(SIZES, decoder_input_dim=32, decoder_output_dim=32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_toy_folder(tmp_path_factory.mktemp("toy") / "data")


def make_options(**options) -> Namespace:
    return Namespace(**{"arch": "mnmt_transformer", "dropout": 0.0, **SIZES, **options})


def make_model(task, **options):
    torch.manual_seed(1)
    return task.build_model(make_options(**options)).eval()


def batch_of(task, direction: str, rows=range(6)) -> dict:
    task.load_dataset("valid")
    dataset = task.dataset("valid")
    (number,) = [i for i, part in enumerate(dataset.parts) if "-".join(part.direction) == direction]
    return dataset.collater([dataset[number * 6 + row] for row in rows])


def stock_model(ours, task, direction: str, placement: str):
    """fairseq's transformer with the same weights, whose tables have the language in every row."""
    arguments = make_options()
    base_architecture(arguments)
    stock = TransformerModelBase.build_model(
        TransformerConfig.from_namespace(arguments), ToyTask(task.dictionary)
    )
    stock.load_state_dict(ours.state_dict())
    stock.encoder.embed_tokens = copy.deepcopy(stock.encoder.embed_tokens)  # no longer shared
    stock.decoder.embed_tokens = copy.deepcopy(stock.decoder.embed_tokens)
    source, target = direction.split("-")
    languages = {"embedded": [source], "embedded-t-enc": [source, target]}[placement]
    table = ours.encoder.embed_tokens.weight.data
    for language in languages:
        stock.encoder.embed_tokens.weight.data += table[task.tags.id_of(language)]
    stock.decoder.embed_tokens.weight.data += table[task.tags.id_of(target)]
    return stock.eval()


def without_tags(batch: dict, task, placement: str) -> dict:
    """Source and decoder input as they are without any tags."""
    plain = make_task(task.cfg.data, language_tags="none", zero_shot_lang_pairs="de-fr")
    direction = "-".join(task.datasets["valid"].parts[int(batch["parts"][0])].direction)
    return batch_of(plain, direction, rows=batch["lines"].tolist())["net_input"]


@pytest.mark.parametrize("placement", EMBEDDED)
@pytest.mark.parametrize("direction", ["de-en", "fr-en", "de-fr"])
def test_the_model_is_fairseqs_with_the_language_added_to_every_token(folder, placement, direction):
    task = make_task(folder, language_tags=placement, zero_shot_lang_pairs="de-fr")
    ours = make_model(task)
    batch = batch_of(task, direction, rows=(4, 0, 2))
    plain = without_tags(batch, task, placement)
    stock = stock_model(ours, task, direction, placement)
    width = plain["src_tokens"].size(1)
    assert batch["net_input"]["src_tokens"].size(1) == width + len(SIDES[placement])
    encoded, expected = (
        model.encoder(inputs["src_tokens"], inputs["src_lengths"])
        for model, inputs in ((ours, batch["net_input"]), (stock, plain))
    )
    real = ~encoded["encoder_padding_mask"][0]
    assert real[:, :width].tolist() == (~expected["encoder_padding_mask"][0]).tolist()
    assert not real[:, width:].any()
    torch.testing.assert_close(
        encoded["encoder_out"][0][:width][real[:, :width].t()],
        expected["encoder_out"][0][real[:, :width].t()],
    )
    words = batch["target"].ne(task.dictionary.pad())
    torch.testing.assert_close(
        ours(**batch["net_input"])[0][words], stock(**plain)[0][words], atol=1e-5, rtol=1e-4
    )


@pytest.mark.parametrize("placement", EMBEDDED)
def test_a_batch_of_several_languages_has_each_with_its_own(folder, placement):
    task = make_task(folder, language_tags=placement)
    model = make_model(task)
    task.load_dataset("train")
    dataset = task.dataset("train")
    examples = [dataset[index] for index in (0, 7, 13, 20)]
    together = model(**dataset.collater(examples)["net_input"])[0]
    for row, example in enumerate(examples):
        alone = model(**dataset.collater([example])["net_input"])[0][0]
        torch.testing.assert_close(together[row, : len(alone)], alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("placement", EMBEDDED)
def test_the_vector_of_a_language_is_trained_where_it_is_used(folder, placement):
    """de-fr: the row of `de` by the encoder, that of `fr` by the decoder, and by the encoder too, if it is
    there; through the softmax both, which is left out here.
    """
    task = make_task(folder, language_tags=placement, zero_shot_lang_pairs="de-fr")
    model = make_model(task, share_all_embeddings=False)
    batch = batch_of(task, "de-fr")
    model.decoder(
        batch["net_input"]["prev_output_tokens"],
        encoder_out=model.encoder(batch["net_input"]["src_tokens"], batch["net_input"]["src_lengths"]),
        features_only=True,
    )[0].square().sum().backward()
    trained = {
        side: {
            language
            for language in task.tags.languages
            if getattr(model, side).embed_tokens.weight.grad[task.tags.id_of(language)].any()
        }
        for side in ("encoder", "decoder")
    }
    assert trained == {"encoder": set(SIDES[placement]), "decoder": {"fr"}}


@pytest.mark.parametrize("placement", EMBEDDED)
def test_fairseqs_search_scores_as_the_whole_sentence_at_once(folder, placement):
    """Step by step the decoder's cache has the language, too."""
    task = make_task(folder, language_tags=placement, zero_shot_lang_pairs="de-fr")
    model = make_model(task)
    batch = batch_of(task, "de-fr", rows=(0, 3))
    options = Namespace(beam=3, max_len_a=0, max_len_b=6, lenpen=0.0, unnormalized=True)
    found = task.inference_step(task.build_generator([model], options), [model], batch)
    start = task.tags.id_of("fr")
    for row, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"]
            previous = torch.cat([torch.tensor([start]), tokens[:-1]])[None]
            inputs = {name: batch["net_input"][name][row : row + 1] for name in ("src_tokens", "src_lengths")}
            log_p = model(**inputs, prev_output_tokens=previous)[0][0].log_softmax(-1)
            expected = log_p.gather(1, tokens[:, None]).sum().detach()
            assert float(hypothesis["score"]) == pytest.approx(float(expected), abs=1e-4)


def test_probes_see_states_of_the_words_in_their_places(folder):
    task = make_task(folder, language_tags="embedded", zero_shot_lang_pairs="de-fr")
    model = make_model(task)
    batch = batch_of(task, "de-fr", rows=(1, 2))
    plain = without_tags(batch, task, "embedded")
    stock = stock_model(model, task, "de-fr", "embedded")
    found, expected = (
        forced_states(each, **inputs) for each, inputs in ((model, batch["net_input"]), (stock, plain))
    )
    for side, layers in expected.items():
        for one, other in zip(found[side], layers, strict=True):
            torch.testing.assert_close(one[:, : other.size(1)], other, atol=1e-5, rtol=1e-4)


def test_a_checkpoint_with_tags_as_tokens_has_the_same_parameters(folder):
    names = [
        {
            name: tuple(tensor.shape)
            for name, tensor in make_model(make_task(folder, language_tags=placement)).state_dict().items()
        }
        for placement in ("s-enc-t-dec", *EMBEDDED)
    ]
    assert names[0] == names[1] == names[2]


def test_stored_states_are_those_of_the_words(folder):
    task = make_task(folder, language_tags="embedded-t-enc")
    task.load_dataset("valid")
    part = task.dataset("valid").parts[0]
    assert part.announced == 2
    assert part.sentence(3).tolist() == part.sources[3].tolist()


def test_the_top_layers_may_be_told_the_target_beside(folder):
    """The input of the top layer has the target's row added, once more behind the source's tag."""
    task = make_task(folder, language_tags="embedded")
    told = make_model(task, target_embedding_layers=1)
    plain_task = make_task(folder, language_tags="embedded")
    plain = make_model(plain_task)
    batch, without = (batch_of(each, "de-en", rows=(0, 3)) for each in (task, plain_task))
    assert batch["net_input"]["src_tokens"].size(1) == without["net_input"]["src_tokens"].size(1) + 1
    inputs = [
        {name: each["net_input"][name] for name in ("src_tokens", "src_lengths")} for each in (batch, without)
    ]
    found = told.encoder(**inputs[0])["encoder_out"][0]
    below = plain.encoder(**inputs[1], return_all_hiddens=True)
    target = plain.encoder.embed_scale * plain.encoder.embed_tokens.weight[task.tags.id_of("en")]
    padding = below["encoder_padding_mask"][0]
    expected = plain.encoder.layers[-1](below["encoder_states"][-2] + target, encoder_padding_mask=padding)
    real = ~padding.t()
    torch.testing.assert_close(found[: len(expected)][real], expected[real], atol=1e-5, rtol=1e-5)


# --- what is refused


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_input_without_tags_is_refused(folder, side):
    task = make_task(folder, language_tags="embedded")
    model, plain = make_model(task), make_task(folder, language_tags="none")
    inputs, wrong = (batch_of(each, "de-en")["net_input"] for each in (task, plain))
    key = {"encoder": "src_tokens", "decoder": "prev_output_tokens"}[side]
    with pytest.raises(InputError, match=r"^token 2: expected a language tag in its place; "):
        model(**{**inputs, key: wrong[key]})


def test_architectures_without_them(folder):
    task = make_task(folder, language_tags="embedded")
    with pytest.raises(
        InputError, match="a TransformerEncoderBase has no language embeddings; use --arch mnmt_t"
    ):
        make_model(task, arch="transformer")
    with pytest.raises(
        InputError, match=r"^--no-token-positional-embeddings: not with --language-tags embedded$"
    ):
        make_model(task, no_token_positional_embeddings=True)
