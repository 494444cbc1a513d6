"""The larger model of benchmarks/translation_speed.py computes what the small one does."""

import pytest
import torch

from benchmarks._larger_model import Enlargement, enlarge
from command_line.errors import InputError
from fairseq_ext.checkpoints.reading import read_state
from fairseq_ext.inference import load_for_inference
from tests.fairseq_ext.export.translation_models import write_data, write_model


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("larger") / "data")


def logits(checkpoint, data):
    model = load_for_inference(checkpoint, data).model
    source = torch.tensor([[34, 5, 6, 7, 2], [1, 1, 36, 20, 2]])
    with torch.no_grad():
        found = model(source, torch.tensor([5, 3]), torch.tensor([[2, 36, 8, 9], [2, 34, 10, 11]]))[0]
    return model, found


@pytest.mark.parametrize(
    "options", [{}, {"share_all_embeddings": True}, {"encoder_learned_pos": True}], ids=str
)
def test_equal_logits(data, tmp_path, options):
    small = write_model(tmp_path / "small.pt", data, norm_placement="pre", **options)
    torch.save(enlarge(read_state(small), Enlargement(width=3, inner=2, layers=5)), tmp_path / "larger.pt")
    model, expected = logits(small, data)
    enlarged, found = logits(tmp_path / "larger.pt", data)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    larger, smaller = enlarged.decoder.layers[4].fc1, model.decoder.layers[0].fc1
    assert larger.in_features == 3 * smaller.in_features and larger.out_features == 2 * smaller.out_features
    assert len(enlarged.encoder.layers) == 5


@pytest.mark.parametrize(
    "options", [{"norm_placement": "post"}, {"norm_placement": "pre", "no_scale_embedding": True}]
)
def test_other_models_are_refused(data, tmp_path, options):
    state = read_state(write_model(tmp_path / "small.pt", data, **options))
    with pytest.raises(InputError, match="plain PreNorm"):
        enlarge(state, Enlargement(width=2, inner=2, layers=2))


def test_fewer_layers_are_refused(data, tmp_path):
    state = read_state(write_model(tmp_path / "small.pt", data, norm_placement="pre"))
    with pytest.raises(InputError, match="1 layers are fewer"):
        enlarge(state, Enlargement(width=2, inner=2, layers=1))
