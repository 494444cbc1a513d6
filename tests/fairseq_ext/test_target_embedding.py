"""`--target-embedding-layers` (LCS): a loop over the layers, every placement of tags and norms, and
whoever gives sentences to an encoder.
"""

from argparse import Namespace

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from fairseq_ext.axes.record import choices, describe
from fairseq_ext.data.batch_fields import FieldSource, Mirror
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset
from fairseq_ext.inference import load_ensemble, load_for_inference
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.models.sentence_encoder import SentenceEncoderModel
from fairseq_ext.modules.residual_block import PLACEMENTS
from tests.fairseq_ext import models
from tests.fairseq_ext.bridges import TaggedTask
from tests.fairseq_ext.bridges import build as build_interlingua
from tests.fairseq_ext.folders import write_preparation, write_toy_folder
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save
from tests.fairseq_ext.test_multilingual_nmt import make_task

TAGS = ("s-enc-t-dec", "t-enc", "t-dec", "s-enc-t-enc", "mbart")  # that are tokens of sentences
DIRECTIONS = (("de", "fr"), ("de", "en"), ("fr", "de"))
WORDS = ([5, 6, 7, 8, 2], [9, 2], [10, 11, 12, 2])


def build(task, layers: int, seed: int = 1, **options) -> MnmtTransformerModel:
    torch.manual_seed(seed)
    options = {"dropout": 0.0, **models.SIZES, "target_embedding_layers": layers, **options}
    return MnmtTransformerModel.build_model(Namespace(**options), task)


def part(task, direction, words) -> DirectionData:
    sizes = np.array([len(words)])
    return DirectionData.with_tags(task.tags, direction, [np.array(words)], [np.array(words)], sizes, sizes)


def batch(task) -> dict:
    """As the task makes it: a sentence per direction, padded."""
    parts = [part(task, direction, words) for direction, words in zip(DIRECTIONS, WORDS, strict=True)]
    dataset = MultilingualDataset(parts, task.dictionary.pad(), task.dictionary.eos(), shuffle=False)
    return dataset.collater([dataset[index] for index in range(len(dataset))])


def encode(model, batch, **options):
    inputs = batch["net_input"]
    return model.eval().encoder(inputs["src_tokens"], inputs["src_lengths"], **options)


@pytest.mark.parametrize("layers", [1, 4])
@pytest.mark.parametrize("norm", PLACEMENTS)
@pytest.mark.parametrize("placement", TAGS)
def test_top_layers_read_the_targets_embedding_beside_their_input(placement, norm, layers):
    task = TaggedTask(placement)
    plain_tags = TaggedTask(placement).tags  # what the encoder reads as a sentence
    model = build(task, layers, norm_placement=norm)
    found = encode(model, batch(task))
    states, padding = found["encoder_out"][0], found["encoder_padding_mask"][0]
    encoder = model.encoder
    for row, (direction, words) in enumerate(zip(DIRECTIONS, WORDS, strict=True)):
        sentence = plain_tags.encoder_ids(*direction) + words + plain_tags.source_ending_ids(*direction)
        x = encoder.forward_embedding(torch.tensor([sentence]))[0].transpose(0, 1)  # T x 1 x C
        target = encoder.embed_tokens.weight[task.dictionary.index(f"__{direction[1]}__")] * 32**0.5
        for number, layer in enumerate(encoder.layers):
            x = layer(x + target if number >= 4 - layers else x, encoder_padding_mask=None)
        x = x if encoder.layer_norm is None else encoder.layer_norm(x)
        torch.testing.assert_close(states[:, row][~padding[row]], x[:, 0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("placement", TAGS)
def test_none_is_the_model_as_it_was_and_no_layers_have_weights_of_their_own(placement):
    plain_task, task = TaggedTask(placement), TaggedTask(placement)
    plain, told = build(plain_task, 0), build(task, 2)
    assert plain.encoder.tags is None and not plain_task.tags.announces_target
    assert {name: tuple(one.shape) for name, one in plain.state_dict().items()} == {
        name: tuple(one.shape) for name, one in told.state_dict().items()
    }
    told.load_state_dict(plain.state_dict(), strict=True)  # of one without such layers
    assert not torch.equal(
        encode(plain, batch(plain_task))["encoder_out"][0][:2],
        encode(told, batch(task))["encoder_out"][0][:2],
    )


def test_the_gradient_reaches_the_targets_embedding():
    """Also where layers compute their states again in the backward pass, after another sentence."""
    gradients = []
    for checkpointed in (False, True):
        task = TaggedTask("t-dec")
        model = build(task, 2, checkpoint_activations=checkpointed)
        source = batch(task)["net_input"]["src_tokens"]
        first = model.encoder(source[:1])["encoder_out"][0]
        model.encoder(source[1:])
        first.square().sum().backward()
        gradients.append(model.encoder.embed_tokens.weight.grad)
    touched = {task.dictionary[index] for index in gradients[0].abs().sum(1).nonzero().flatten().tolist()}
    assert "__fr__" in touched and not touched & {"__en__", "__de__"}
    torch.testing.assert_close(gradients[1], gradients[0])


def test_lower_layers_do_not_see_the_target():
    task = TaggedTask("t-dec")
    model = build(task, 1)
    sources = [part(task, ("de", target), WORDS[0]) for target in ("fr", "en")]
    dataset = MultilingualDataset(sources, task.dictionary.pad(), task.dictionary.eos(), shuffle=False)
    pair = dataset.collater([dataset[0], dataset[1]])
    states = encode(model, pair, return_all_hiddens=True)["encoder_states"]
    words = len(WORDS[0])
    for layer in states[:-1]:
        torch.testing.assert_close(layer[:words, 0], layer[:words, 1])
    assert not torch.allclose(states[-1][:words, 0], states[-1][:words, 1])


def test_sentences_drop_out_of_stochastic_depth_unharmed():
    task = TaggedTask("t-dec")
    model = build(task, 2, encoder_layerdrop=0.5).train()
    torch.manual_seed(3)
    assert model.encoder(batch(task)["net_input"]["src_tokens"])["encoder_out"][0].isfinite().all()


def test_a_mirrored_sentence_is_told_its_own_target():
    task = TaggedTask("s-enc-t-dec")
    build(task, 2)
    mirror = Mirror(FieldSource(part(task, ("de", "fr"), WORDS[0]), task.tags, None, "train"))
    assert [task.dictionary[index] for index in mirror[0][[0, -1]]] == ["__fr__", "__de__"]


def test_an_interlingua_counts_no_announced_tag():
    plain = build_interlingua("variable")
    task = TaggedTask("s-enc-t-dec")
    told = build_interlingua("variable", task, target_embedding_layers=1)
    inputs = batch(task)["net_input"]
    lengths = told.encoder.tags.source_lengths(inputs["src_tokens"])
    assert lengths.tolist() == [len(words) + 1 for words in WORDS]  # with the source's tag
    announced = inputs["src_tokens"].clone()
    announced[torch.arange(3), lengths] = task.dictionary.pad()
    assert plain.encoder.tags.source_lengths(announced).tolist() == lengths.tolist()
    english = [part(task, ("en", "de"), WORDS[0])]
    dataset = MultilingualDataset(english, task.dictionary.pad(), task.dictionary.eos(), shuffle=False)
    found = encode(told, dataset.collater([dataset[0]]))
    assert found["interlingua_lengths"][0].tolist() == [len(WORDS[0]) + 1]  # a centric sentence knows its own


@pytest.fixture
def data(tmp_path):
    folder = write_toy_folder(tmp_path / "data")
    write_preparation(folder)
    return folder


def checkpoint(tmp_path, data) -> str:
    return save(tmp_path / "model.pt", checkpoint_state(data, target_embedding_layers=1))


def test_a_checkpoint_translates_as_fairseqs_own_generation_does(tmp_path, data):
    """Tags travel in the batches of every command, ours and stock."""
    from eval.translation.decoding import build_decoder, load_sources, search_all
    from eval.translation.search_options import DecodingOptions, SearchOptions

    loaded = load_for_inference(checkpoint(tmp_path, data), data)
    task, direction = loaded.task, ("de", "fr")
    decoder = build_decoder(loaded, DecodingOptions(SearchOptions(max_len_b=6), cpu=True))
    sources = load_sources(task, data, "valid", direction)

    class Nothing:
        entries = ()

        def add(self, entry):
            pass

    (ours,) = search_all(decoder, Nothing(), [sources], "translate")
    options = Namespace(beam=5, max_len_a=0, max_len_b=6)
    generator = task.build_generator([loaded.model], options)
    dataset = task.build_dataset_for_inference.__func__  # fairseq-interactive's sentences
    task.cfg.source_lang, task.cfg.target_lang = direction
    typed = [torch.as_tensor(sources.sources[index]) for index in range(len(sources))]
    dataset = dataset(task, typed, [len(one) for one in typed])
    sample = dataset.collater([dataset[index] for index in range(len(dataset))])
    sample["net_input"] = {name: sample["net_input"][name] for name in ("src_tokens", "src_lengths")}
    found = task.inference_step(generator, [loaded.model], sample)
    stripped = task.tags.all_ids() | {task.dictionary.eos()}
    theirs = [[int(token) for token in best[0]["tokens"] if int(token) not in stripped] for best in found]
    assert ours == theirs


def test_a_sentence_alone_is_encoded_for_a_target_that_is_given(tmp_path, data):
    from embeddings.encoders.checkpoint import CheckpointEncoder
    from embeddings.encoders.options import EncoderOptions

    def encoder(**options) -> CheckpointEncoder:
        path = tmp_path / "model.pt"
        return CheckpointEncoder.load(EncoderOptions(model=path, model_data=data, cpu=True, **options))

    checkpoint(tmp_path, data)
    with pytest.raises(InputError, match="told the target language; give --target-lang, one of de, en, fr"):
        encoder().encode(["w1 w2"], "de")
    vectors = [encoder(target_lang=target).encode(["w1 w2"], "de") for target in ("fr", "en")]
    assert not np.allclose(*vectors)


def test_members_of_an_ensemble_read_the_same_source(tmp_path, data):
    other = save(tmp_path / "other.pt", checkpoint_state(data))
    with pytest.raises(
        InputError, match=r"other.pt: its target behind the source \(LCS\): False, and True in"
    ):
        load_ensemble([checkpoint(tmp_path, data), other], data)


@pytest.mark.parametrize("layers", [(1, 0), (0, 1)])
def test_members_of_fairseqs_own_ensemble_read_the_same_source(data, layers):
    """`fairseq-generate --path A:B` builds them with one task."""

    def build_all(placement: str, layers) -> None:
        task = make_task(data, language_tags=placement)
        for each in layers:
            options = {**models.SIZES, "_name": "mnmt_transformer", "arch": "mnmt_transformer"}
            task.build_model(Namespace(**options, target_embedding_layers=each), from_checkpoint=True)

    build_all("t-enc", layers)  # whose sentences have the tag anyhow
    build_all("t-dec", (1, 2))
    with pytest.raises(InputError, match="--path: some of the models are told the target language"):
        build_all("t-dec", layers)


@pytest.mark.parametrize("layers", [-1, 5])
def test_as_many_layers_as_there_are(layers):
    expected = f"--target-embedding-layers {layers}: expected a number between 0 and 4"
    with pytest.raises(InputError, match=expected):
        build(TaggedTask(), layers)


def test_sentences_without_tags_are_refused():
    with pytest.raises(InputError, match="have no language tags; expected the task multilingual_nmt"):
        build(TaggedTask("none"), 1)
    with pytest.raises(InputError, match="the task has no language tags; expected the task multilingual_nmt"):
        models.build(MnmtTransformerModel, models.toy_dictionary(), target_embedding_layers=1)
    with pytest.raises(InputError, match="the vector of a sentence has no target language"):
        models.build(SentenceEncoderModel, models.toy_dictionary(), target_embedding_layers=1)


def test_it_is_an_axis():
    records = [
        describe(
            {"model": Namespace(arch="x", target_embedding_layers=layers), "common": {"seed": 1}},
            "t-dec",
        )
        for layers in (0, 5)
    ]
    assert [record["name"] for record in records] == ["PostNorm T-DEC x", "PostNorm T-DEC LCS 5 x"]
    assert "target_embedding_layers" not in records[0]
    named = [choices(record)["target language in encoder layers"] for record in records]
    assert named == [0, 5]
