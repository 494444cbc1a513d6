"""Folders of models with wrong contents, through every command that reads one: one line that names them."""

import json
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from data_prep.model_folders.allowed import VOCABULARIES
from data_prep.model_folders.identity import check_folder
from tests.campaign.world import words_of
from tests.eval.translation.transformers_folders import write_opus_mt
from tests.our_commands import run_command

ENCODE = "embeddings encode {w}/raw/test.de-en.de --cpu --output {o} --model {f}"
NOT_FINITE = "its vector is NaN or infinite; expected an encoder"  # names the sentence
LANGUAGE_MODEL = "--data {w}/data --cpu --output {o}"
TRANSLATE = f"llm translate {LANGUAGE_MODEL} --directions de-en --max-output 3"
COMMANDS = {  # a title: which folder of the world, and a command that reads it, {f}
    "encode": ("bert", ENCODE),
    "encode by modules": ("modules", ENCODE),
    "encode by a graph": ("graph", ENCODE),
    "subword": ("bert", "data_prep subword --input {w}/raw --output {o} --workers 1 --tokenizer {f}"),
    "calibrate": ("bert", "embeddings calibrate --model {f}"),
    "finetune": ("bert", "embeddings finetune --model {f}"),
    "translate": ("language-model", TRANSLATE + " --model {f}"),
    "translate by an encoder-decoder": (
        "opus-mt",
        "eval translate --data {w}/data --directions de-en --max-len-b 3 --cpu --output {o} --checkpoint {f}",
    ),
    "translate by an adapter": ("adapter", TRANSLATE + " --model {w}/language-model --tuned {f}"),
    "states": ("language-model", f"llm states --split test {LANGUAGE_MODEL} --model {{f}}"),
    "tune": ("language-model", "llm tune --model {f}"),
}
QUICK = ("encode", "encode by modules", "encode by a graph", "translate", "translate by an adapter")
NO_JSON = (b"", b"{", b"[]", b"3", b"null", b'"text"', b"\xff", b"{}", b"[" * 100_000, b'{"a": NaN}')
WRONG_VALUES = (None, -1, 1e300, "text", "../x", [None], {"x": {}})
CODE = "import pathlib; pathlib.Path({!r}).touch()\n"


@pytest.fixture(scope="session")
def folders(pristine, tmp_path_factory) -> Path:
    """A folder of every kind, which no case may change."""
    from peft import LoraConfig, get_peft_model
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
    from transformers import AutoModelForCausalLM

    root = tmp_path_factory.mktemp("folders")
    for name in ("bert", "language-model"):
        shutil.copytree(pristine / name, root / name)
    states = Transformer(str(pristine / "bert"))
    width = states.get_embedding_dimension()
    modules = [states, Pooling(width), Dense(width, 4), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(root / "modules"))
    words = f"fairseq_ext export {pristine}/sentences.pt {root}/graph --to onnx --data {pristine}/pieces"
    assert run_command(words.split()) == 0
    model = AutoModelForCausalLM.from_pretrained(pristine / "language-model")
    settings = LoraConfig(task_type="CAUSAL_LM", r=2, init_lora_weights=False)
    get_peft_model(model, settings).save_pretrained(root / "adapter")
    write_opus_mt(root / "opus-mt", "deu", "eng")
    return root


@pytest.fixture
def call(folders, pristine, tmp_path, run):
    """Change a copy of a command's folder and run the command; if it fails, it names the folder."""

    def call(title: str, change, may_work: bool = False) -> int:
        kind, words = COMMANDS[title]
        folder = tmp_path / kind
        shutil.copytree(folders / kind, folder, symlinks=True)
        change(folder)
        given = words.format(w=pristine, o=tmp_path / "output", f=folder).split()
        step = " ".join(given[:2])
        if step in ("embeddings calibrate", "embeddings finetune", "llm tune"):
            rest = words_of(step, pristine, tmp_path / "output")
            place = rest.index("--model")
            given += rest[:place] + rest[place + 2 :]
        found = run(given)
        assert may_work or found.status == 2
        assert found.status == 0 or str(folder) in found.line or NOT_FINITE in found.line, found.line
        shutil.rmtree(folder)
        shutil.rmtree(tmp_path / "output", ignore_errors=True)
        return found.status

    return call


def records(folder: Path) -> list[str]:
    """The files of settings of a folder that are read, but for vocabularies."""
    names = check_folder(folder).files
    return [name for name in names if name.endswith(".json") and Path(name).name not in VOCABULARIES]


@pytest.mark.parametrize("title", COMMANDS)
def test_right_folders(call, title):
    assert call(title, lambda folder: None, may_work=True) == 0


@pytest.mark.parametrize("title", COMMANDS)
def test_code_is_not_run(call, tmp_path, title):
    """Every way in which a folder asked a library for code."""
    harm = tmp_path / "harm"

    def custom_generate(folder):
        (folder / "custom_generate").mkdir()
        (folder / "custom_generate/generate.py").write_text(
            CODE.format(str(harm)) + "def generate(*a, **k): pass\n"
        )

    def second_configuration(folder):
        change_json(folder, backbone_kwargs={"trust_remote_code": True, "_configuration_file": "a/b.json"})

    def own_classes(folder):
        (folder / "own.py").write_text(CODE.format(str(harm)))
        change_json(folder, auto_map={"AutoModel": "own.Own", "AutoConfig": "own.Own"})

    def pickled(folder):
        for path in folder.rglob("*.safetensors"):
            path.unlink()
            other = path.with_name(path.name.replace("model.safetensors", "pytorch_model.bin"))
            other.write_bytes(pickle.dumps(Harm(harm)))

    def change_json(folder, **fields):
        name = next(name for name in ("adapter_config.json", "config.json", "tokenizer_config.json")
                    if (folder / name).exists())  # fmt: skip
        record = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(record | fields))

    for change in (custom_generate, own_classes, second_configuration):
        call(title, change, may_work=change is second_configuration and title == "translate by an adapter")
        assert not harm.exists()
    needs_weights = title not in ("subword", "encode by a graph")
    call(title, pickled, may_work=not needs_weights)
    assert not harm.exists()


class Harm:
    """Leaves a file where it is read."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("title", QUICK)
def test_files_that_are_damaged(call, folders, title):
    folder = folders / COMMANDS[title][0]
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "README.md"):
        name, size = path.relative_to(folder), path.stat().st_size
        for content in (b"", b"text", path.read_bytes()[: size // 2]):
            call(title, lambda made, n=name, c=content: (made / n).write_bytes(c), may_work=True)
        for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/passwd", path)):
            call(title, lambda made, n=name, m=make: ((made / n).unlink(), m(made / n)), may_work=True)
        call(title, lambda made, n=name: (made / n).unlink(), may_work=True)


@pytest.mark.parametrize("title", QUICK)
def test_records_that_are_none(call, folders, title):
    for name in records(folders / COMMANDS[title][0]):
        for content in NO_JSON:
            call(
                title,
                lambda folder, n=name, c=content: (folder / n).write_bytes(c),
                may_work=content == b"{}",
            )


@pytest.mark.parametrize("title", QUICK)
def test_fields_with_wrong_values(call, folders, title):
    folder = folders / COMMANDS[title][0]
    for name in records(folder):
        record = json.loads((folder / name).read_text())
        for field in record if isinstance(record, dict) else ():
            for wrong in WRONG_VALUES:
                text = json.dumps(record | {field: wrong})
                call(title, lambda made, n=name, t=text: (made / n).write_text(t), may_work=True)


@pytest.mark.parametrize("title", ["translate", "translate by an adapter"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(call, title, value):
    def change(folder):
        (path,) = folder.glob("*.safetensors")
        weights = load_file(path)
        name = min(weights)
        save_file(weights | {name: torch.full_like(weights[name], value)}, path, {"format": "pt"})

    call(title, change)


@pytest.mark.parametrize("title", QUICK)
def test_weights_of_other_shapes(call, title):
    def change(folder):
        for path in folder.rglob("*.safetensors"):
            weights = load_file(path)
            save_file(
                {name: one.flatten()[:-1].clone() for name, one in weights.items()}, path, {"format": "pt"}
            )

    call(title, change, may_work=title == "encode by a graph")
