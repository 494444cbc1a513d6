"""`export --to ctranslate2`: the same scores and hypotheses, or a refusal that says why."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import ctranslate2
import pytest
import torch

from command_line.errors import InputError
from data_prep.formats.preparation import Preparation
from fairseq_ext import processor
from fairseq_ext.export import ctranslate2_search, translation_formats, translation_parity
from fairseq_ext.export.ctranslate2_search import Ctranslate2Search, Limits, Source
from fairseq_ext.export.job import ExportJob
from fairseq_ext.inference import load_for_inference
from tests.eval.translation.packages import fairseq_ext, package, write_checkpoint
from tests.fairseq_ext.export.translation_models import write_data, write_model
from tests.fairseq_ext.models import OTHER_PLACEMENTS
from tests.fairseq_ext.test_checkpoints import bilingual_state, save


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("ctranslate2") / "data")


def export(checkpoint: Path, data: Path, output: Path, *options) -> int:
    return fairseq_ext("export", checkpoint, output, "--to", "ctranslate2", "--data", data, *options)


def parity_of(folder: Path) -> dict:
    return json.loads((folder / "parity.json").read_text())


GRAPHS = [
    {},
    {"norm_placement": "pre"},
    {"norm_placement": "pre", "tags": "t-enc", "share_decoder_input_output_embed": True},
    {"norm_placement": "pre", "no_encoder_final_norm": True},
    {"tags": "t-dec", "no_norm_affine": True, "activation_fn": "gelu", "no_scale_embedding": True},
    {"tags": "mbart", "encoder_learned_pos": True, "decoder_learned_pos": True, "layernorm_embedding": True},
    {"tags": "s-enc-t-enc", "encoder_attention_heads": 2, "decoder_layers": 1, "decoder_ffn_embed_dim": 48},
    {"arch": "transformer", "encoder_normalize_before": True},
    {"no_token_positional_embeddings": True},
]


@pytest.mark.parametrize(
    "options", GRAPHS, ids=[", ".join(map(str, one.values())) or "post" for one in GRAPHS]
)
def test_graphs_and_tags(data, tmp_path, options):
    """Scores of the checkpoint's hypotheses, and the hypotheses, through fairseq's own search."""
    checkpoint = write_model(tmp_path / "model.pt", data, **options)
    assert export(checkpoint, data, tmp_path / "out") == 0
    parity = parity_of(tmp_path / "out")
    assert parity["sentences"] == 12 and len(parity["directions"]) == 3
    assert parity["largest_difference"] < 1e-5 and parity["equal_hypotheses"] == 1


def test_scores_with_and_without_the_tag(data, tmp_path):
    """Against fairseq's log-probabilities of the hypothesis: with the forced tag, and from behind it."""
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert export(checkpoint, data, tmp_path / "out") == 0
    loaded = load_for_inference(checkpoint, data)
    search = Ctranslate2Search(tmp_path / "out", loaded.task.dictionary.symbols)
    source = Source([34, 5, 6, 7, 2], [36])
    for without in (False, True):
        ((tokens, score),) = search.n_best([source], Limits(4, 0.7, 9, score_without_tag=without))[0]
        target = torch.tensor([[36, *tokens, 2]])
        previous = torch.tensor([[2, 36, *tokens]])
        with torch.no_grad():
            logits = loaded.model(torch.tensor([source.tokens]), torch.tensor([5]), previous)[0]
        of_tokens = logits.log_softmax(-1).gather(2, target[:, :, None])[0, :, 0][int(without) :]
        assert score == pytest.approx(float(of_tokens.sum()) / len(of_tokens) ** 0.7, abs=1e-4)


def test_small_batches_change_no_hypothesis_and_no_order(data, tmp_path, monkeypatch):
    """What is given at once is searched in parts that fit a processor's cache, whatever its lengths."""
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert export(checkpoint, data, tmp_path / "out") == 0
    symbols = load_for_inference(checkpoint, data).task.dictionary.symbols
    sources = [Source([34, *range(5, 6 + length % 7), 2], [36]) for length in range(20)]
    found = []
    for most in (1, 12, 10_000):
        monkeypatch.setattr(ctranslate2_search, "CPU_TOKENS", most)
        search = Ctranslate2Search(tmp_path / "out", symbols, threads=2)
        found.append(search.n_best(sources, Limits(4, 1.0, 9, count=2)))
    for one in found[:2]:
        assert [[tokens for tokens, _ in best] for best in one] == [[t for t, _ in b] for b in found[2]]
        scores = [[score for best in each for _, score in best] for each in (one, found[2])]
        assert scores[0] == pytest.approx(scores[1], abs=1e-5)
    assert len({tuple(best[0][0]) for best in found[0]}) > 1


@pytest.mark.parametrize(
    ("flags", "before", "after"),
    [("avx512f avx512_vbmi2", None, "AVX512"), ("avx512f", None, None), ("avx512_vbmi2", "AVX2", "AVX2")],
)
def test_avx512_where_it_costs_no_clock(tmp_path, monkeypatch, flags, before, after):
    (tmp_path / "cpuinfo").write_text(f"flags\t\t: fpu {flags} sse2\n")
    monkeypatch.setattr(processor, "INFORMATION", tmp_path / "cpuinfo")
    environment = {} if before is None else {"CT2_FORCE_CPU_ISA": before}
    monkeypatch.setattr(ctranslate2_search.os, "environ", environment)
    ctranslate2_search.choose_instructions()
    assert environment.get("CT2_FORCE_CPU_ISA") == after


@pytest.mark.slow
@pytest.mark.parametrize("forced", ["GENERIC", None])
def test_the_library_takes_the_choice_of_instructions(data, tmp_path, forced):
    """It is read late enough: asking for precisions does not settle it."""
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert export(checkpoint, data, tmp_path / "out") == 0
    program = (
        "import sys\n"
        "from fairseq_ext.export.ctranslate2_search import Ctranslate2Search, precisions\n"
        "precisions(False)\n"
        "Ctranslate2Search(sys.argv[1], [])\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "CT2_FORCE_CPU_ISA"}
    environment |= {"CT2_VERBOSE": "1"} | ({"CT2_FORCE_CPU_ISA": forced} if forced else {})
    command = [sys.executable, "-c", program, tmp_path / "out"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    (selected,) = [line.split()[-1] for line in done.stderr.splitlines() if "Selected ISA" in line]
    if forced:
        assert selected == forced
    elif ctranslate2_search.FULL_CLOCK in processor.processor_flags():
        assert selected == "AVX512"


def test_the_library_alone_reads_it(data, tmp_path):
    """As the folder's README says."""
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert export(checkpoint, data, tmp_path / "out") == 0
    readme = (tmp_path / "out/README.md").read_text()
    assert 'source = ["__de__", *pieces, "</s>"]' in readme and 'target_prefix=[["__en__"]]' in readme
    model = ctranslate2.Translator(str(tmp_path / "out"))
    assert "max_decoding_length=63)" in readme
    source = ["__de__", "w1", "w2", "</s>"]
    (found,) = model.translate_batch([source], target_prefix=[["__en__"]], max_decoding_length=63)
    assert found.hypotheses[0][0] == "__en__"


def test_eight_bits_are_compared_in_float32_first(data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert (
        export(checkpoint, data, tmp_path / "exact")
        == export(checkpoint, data, tmp_path / "out", "--precision", "int8")
        == 0
    )
    assert 0 <= parity_of(tmp_path / "out")["equal_hypotheses_in_int8"] <= 1
    assert parity_of(tmp_path / "out")["equal_hypotheses"] == 1
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("out", "exact")]
    assert sizes[0] < 0.6 * sizes[1]


def test_a_precision_that_this_machine_lacks_is_written_and_not_compared(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fairseq_ext.export.ctranslate2_search.precisions", lambda cuda: ["float32"])
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert export(checkpoint, data, tmp_path / "out", "--precision", "float16") == 0
    assert "export: not compared in float16, which this processor has not" in capsys.readouterr().err
    assert parity_of(tmp_path / "out")["equal_hypotheses_in_float16"] is None
    assert parity_of(tmp_path / "out")["equal_hypotheses"] == 1


def test_another_job_or_other_data_is_another_export(data, tmp_path, monkeypatch):
    from fairseq_ext.commands import export as command

    calls = []

    def write(job, folder):
        calls.append(job)
        (folder / "README.md").touch()

    monkeypatch.setattr(command, "export", write)
    own = shutil.copytree(data, tmp_path / "data")
    text = tmp_path / "check.de"
    text.write_text("w1\n")
    checkpoint = write_model(tmp_path / "model.pt", own)
    usual = ExportJob(
        checkpoint=checkpoint, data=own, to="transformers", output=tmp_path / "out", check_text=[text]
    )
    others = [
        {"to": "ctranslate2"}, {"precision": "int8"}, {"pretokenized": True}, {"check_lines": 3},
        {"check_text": []},
    ]  # fmt: skip
    for job in (usual, *(dataclasses.replace(usual, **one) for one in others), usual):
        command.make(job)
        command.make(job)  # is complete
    assert len(calls) == len(others) + 2
    for path in (text, own / "preparation.json", own / "dict.de.txt", checkpoint):
        path.write_bytes(path.read_bytes() + b" ")
        command.make(usual)
    assert len(calls) == len(others) + 6


def test_of_a_package(data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", data)
    made = package(tmp_path / "system", data, checkpoint, options=("--sets", "test"))
    assert fairseq_ext("export", made, tmp_path / "out", "--to", "ctranslate2") == 0
    assert parity_of(tmp_path / "out")["sentences"] == 12


def test_a_folder_of_somebody_else_is_left_alone(data, tmp_path, capsys):
    """The packaged system itself, too: a mark of an export would make it look unfinished."""
    made = package(tmp_path / "system", data, write_model(tmp_path / "model.pt", data))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/README.md").write_text("mine")
    for output in (made, tmp_path / "mine"):
        before = sorted(output.rglob("*"))
        assert fairseq_ext("export", made, output, "--to", "ctranslate2", "--data", data) == 2
        assert f"{output}: is not empty, and not from `export`; choose an empty" in capsys.readouterr().err
        assert sorted(output.rglob("*")) == before
    assert (tmp_path / "mine/README.md").read_text() == "mine"


def test_a_repetition_skips_it_and_options_do_it_again(data, tmp_path):
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert export(checkpoint, data, tmp_path / "out") == 0
    before = (tmp_path / "out/model.bin").stat().st_mtime_ns
    assert export(checkpoint, data, tmp_path / "out") == 0
    assert (tmp_path / "out/model.bin").stat().st_mtime_ns == before
    assert export(checkpoint, data, tmp_path / "out", "--check-lines", "2") == 0
    assert parity_of(tmp_path / "out")["sentences"] == 6


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        *OTHER_PLACEMENTS,
        ({"drop_residual_layers": "1"}, "no residual connection (--drop-residual-layers)"),
        ({"arch": "interlingua_transformer"}, "its encoder is a InterlinguaEncoder"),
        ({"target_embedding_layers": 1}, "--target-embedding-layers"),
        ({"tags": "embedded"}, "--language-tags embedded adds languages to all embeddings"),
        ({"activation_fn": "linear"}, "--activation-fn linear"),
        ({"arch": "transformer", "scale_heads": True}, "its weights decoder.layers.0.c_attn"),
    ],
)
def test_other_graphs_are_refused_with_the_reason(data, tmp_path, capsys, options, reason):
    options = dict(options)
    tags = options.pop("tags", "s-enc-t-dec")
    checkpoint = write_checkpoint(tmp_path / "model.pt", data, **options)
    state = torch.load(checkpoint, weights_only=False)
    state["task_state"]["language_tags"] = tags
    save(checkpoint, state)
    assert export(checkpoint, data, tmp_path / "out") == 2
    message = capsys.readouterr().err
    assert reason in message and message.count("\n") == 1 and "cannot be exported" in message
    assert not (tmp_path / "out/model.bin").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("encoder.layers.0.fc1.bias", "score"),
        ("decoder.layers.0.self_attn_layer_norm.weight", "score"),
        ("decoder.layer_norm.weight", "score"),
    ],
)
def test_a_wrong_weight_is_found_and_nothing_is_left(data, tmp_path, monkeypatch, capsys, name, message):
    """The specification is made from another model than the reference: one vector is not the same."""
    checkpoint = write_model(tmp_path / "model.pt", data, norm_placement="pre")
    graph_of = translation_formats.translation_graph_of

    def other_graph(loaded, path):
        state = torch.load(checkpoint, weights_only=False)
        state["model"][name] = state["model"][name].roll(1)
        return graph_of(load_for_inference(save(tmp_path / "other.pt", state), data), path)

    monkeypatch.setattr(translation_formats, "translation_graph_of", other_graph)
    assert export(checkpoint, data, tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert "differs from the checkpoint" in error and message in error and error.count("\n") == 1
    assert not any((tmp_path / "out").glob("model.bin"))


def test_what_a_killed_export_leaves_is_known_as_unfinished(data, tmp_path, monkeypatch):
    """Names that `remove_leftovers` removes; the folder that is compared is one of them."""
    checkpoint, found = write_model(tmp_path / "model.pt", data), []

    def check(*_) -> dict:
        found.extend(path.name for path in (tmp_path / "out").iterdir() if path.is_dir())
        raise InputError("killed")

    monkeypatch.setattr(translation_formats, "check_translations", check)
    assert export(checkpoint, data, tmp_path / "out") == 2
    assert len(found) == 2 and all(name.startswith(".partial-") for name in found)


def test_a_bilingual_model_is_compared_in_its_direction_alone(data, tmp_path):
    state = bilingual_state(data, source_lang="en", target_lang="de")
    loaded = load_for_inference(save(tmp_path / "bilingual.pt", state), data)
    sentences = translation_parity.checked_sentences(loaded, Preparation.load(data), 2)
    assert [(one.direction, one.line) for one in sentences] == [(("en", "de"), 0), (("en", "de"), 1)]


def test_hypotheses_of_another_search_are_found(data, tmp_path):
    loaded = load_for_inference(write_model(tmp_path / "model.pt", data), data)
    sentences = translation_parity.checked_sentences(loaded, Preparation.load(data), 4)
    scores = [one.score for one in sentences]
    same = [one.hypothesis for one in sentences]
    found = translation_parity.check_translations(sentences, lambda _: scores, lambda _: same)
    assert found["equal_hypotheses"] == 1
    with pytest.raises(InputError, match=r"91\.7% of 12 hypotheses are equal, expected 99%"):
        translation_parity.check_translations(sentences, lambda _: scores, lambda _: [[], *same[1:]])
    with pytest.raises(InputError, match="score nan"):
        nan = [float("nan"), *scores[1:]]
        translation_parity.check_translations(sentences, lambda _: nan, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "ctranslate2"], "--data: is missing; expected the binarized folder"),
        (
            ["--to", "ctranslate2", "--pretokenized", "--data", "{data}"],
            "--pretokenized: needs a sentence encoder",
        ),
        (
            ["--to", "ctranslate2", "--precision", "int4", "--data", "{data}"],
            "--precision: invalid choice: 'int4'",
        ),
        (["--to", "onnx", "--precision", "float16", "--data", "{data}"], "--to onnx has float32, int8"),
    ],
)
def test_nonsense_is_one_line(data, tmp_path, capsys, words, message):
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert (
        fairseq_ext("export", checkpoint, tmp_path / "out", *(word.format(data=data) for word in words)) == 2
    )
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
