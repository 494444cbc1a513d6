"""`export --to transformers` of translation models: equal logits, tokens and greedy translations."""

import json
from pathlib import Path

import pytest
import torch
import transformers

from eval.translation.beam_search import BeamSearch
from eval.translation.search_options import SearchOptions
from fairseq_ext.inference import load_for_inference
from tests.eval.translation.packages import fairseq_ext, write_checkpoint
from tests.fairseq_ext.export.translation_models import write_data, write_model
from tests.fairseq_ext.models import OTHER_PLACEMENTS

SHARED = {"share_all_embeddings": True}
LEARNED = {"encoder_learned_pos": True, "decoder_learned_pos": True, "layernorm_embedding": True}
MODELS = [
    ("fsmt", {**SHARED}),
    ("m2m_100", {**SHARED, "norm_placement": "pre", "decoder_layers": 1, "encoder_attention_heads": 2}),
    ("bart", {**SHARED, **LEARNED, "no_scale_embedding": True, "activation_fn": "gelu"}),
    ("mbart", {**SHARED, **LEARNED, "norm_placement": "pre", "max_source_positions": 80, "tags": "mbart"}),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("transformers") / "data")


def export(checkpoint: Path, data: Path, output: Path, *options) -> int:
    return fairseq_ext("export", checkpoint, output, "--to", "transformers", "--data", data, *options)


@pytest.mark.parametrize(("family", "options"), MODELS, ids=[family for family, _ in MODELS])
def test_logits_are_equal(data, tmp_path, family, options):
    checkpoint = write_model(tmp_path / "model.pt", data, **options)
    assert export(checkpoint, data, tmp_path / "out") == 0
    parity = json.loads((tmp_path / "out/parity.json").read_text())
    assert parity["sentences"] == 12 and parity["largest_difference"] < 1e-5
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval()
    ours = load_for_inference(checkpoint, data).model
    assert theirs.config.model_type == family
    source = torch.tensor([[34, 5, 6, 7, 8, 2], [35, 9, 2, 1, 1, 1]])
    previous = torch.tensor([[2, 36, 9, 10], [2, 36, 11, 1]])
    with torch.no_grad():
        expected = ours(source, torch.tensor([6, 3]), previous)[0]
        found = theirs(source, source.ne(1).long(), previous, use_cache=False).logits
    words = previous.ne(1)
    torch.testing.assert_close(found[words], expected[words], atol=2e-5, rtol=1e-4)


def test_the_readme_s_code_translates(data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", data, **SHARED, norm_placement="pre")
    assert export(checkpoint, data, tmp_path / "out", "--check-lines", "1") == 0
    assert (
        'forced_bos_token_id=tokenizer.convert_tokens_to_ids("__en__")'
        in (tmp_path / "out/README.md").read_text()
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    batch = tokenizer(["__de__ w1 w2 unheard-of w3"], return_tensors="pt", return_token_type_ids=False)
    loaded = load_for_inference(checkpoint, data)
    index = loaded.task.dictionary.index
    assert batch["input_ids"][0].tolist() == [index("__de__"), index("w1"), index("w2"), 3, index("w3"), 2]
    tag = tokenizer.convert_tokens_to_ids("__en__")
    found = model.generate(**batch, forced_bos_token_id=tag, num_beams=1, max_new_tokens=12, do_sample=False)
    search = BeamSearch(loaded.model, loaded.task.dictionary, SearchOptions(beam=1, max_len_b=12))
    (expected,) = search(batch["input_ids"], torch.tensor([6]), torch.tensor([[tag]]))
    assert [token for token in found[0].tolist()[2:] if token != 2] == expected[:11]


def test_the_readme_s_code_ends_where_the_positions_do(data, tmp_path, monkeypatch):
    checkpoint = write_model(tmp_path / "model.pt", data, **SHARED, **LEARNED, max_target_positions=60)
    assert export(checkpoint, data, tmp_path / "out", "--check-lines", "1") == 0
    code = (tmp_path / "out/README.md").read_text().split("```python\n")[1].split("```")[0]
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    model.final_logits_bias[0, 2] = -1e4  # never `</s>`
    model.save_pretrained(tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    exec(code, found := {})
    assert found["found"].shape[1] == 60


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        *(({**SHARED, **options}, reason) for options, reason in OTHER_PLACEMENTS),
        ({**SHARED, "norm_placement": "pre", "no_encoder_final_norm": True}, "--no-encoder-final-norm"),
        ({**SHARED, "norm_placement": "pre", "no_decoder_final_norm": True}, "--no-decoder-final-norm"),
        ({**SHARED, "encoder_learned_pos": True}, "no stock model has its norms and positions"),
        ({**SHARED, "layernorm_embedding": True}, "no stock model has its norms and positions"),
        ({}, "stock models share all embeddings"),
    ],
)
def test_what_the_library_lacks_is_refused(data, tmp_path, capsys, options, reason):
    checkpoint = write_checkpoint(tmp_path / "model.pt", data, **options)
    assert export(checkpoint, data, tmp_path / "out") == 2
    message = capsys.readouterr().err
    assert reason in message and message.count("\n") == 1
    assert not (tmp_path / "out/config.json").exists()
