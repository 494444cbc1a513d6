"""Exported translation models that read raw text: the README's code translates as the checkpoint does."""

import io
from pathlib import Path

import ctranslate2
import pytest
import sentencepiece
import torch

from command_line.outputs import checksum
from data_prep.formats.dictionary import dictionary_lines, load_dictionary, write_dictionary
from data_prep.formats.preparation import Preparation
from fairseq_ext.data.dataset_parts import pad_right
from fairseq_ext.export.sentencepiece_model import read_sentencepiece_model
from fairseq_ext.inference import load_for_inference
from tests.embeddings.encoders.folders import TEXT
from tests.eval.translation.packages import fairseq_ext
from tests.fairseq_ext.export.translation_models import write_model
from tests.fairseq_ext.folders import write_pair

LANGUAGES = ("de", "en", "fr")
LINES = [TEXT[0], TEXT[1], "  two   spaces", "__de__ </s> <unk> snow☃☃", "☃", "ÄÖÜ e\u0308"]
PLACEMENTS = ["s-enc-t-dec", "s-enc-t-enc", "mbart"]


def write_data(folder: Path, tokenizer: str = "none", dropped: int = 0) -> Path:
    """DATA of raw text, split by sentencepiece, with test sets of three pairs.

    Args:
        dropped: pieces that the dictionary lacks.
    """
    folder.mkdir()
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 3), model_writer=model, vocab_size=95, model_type="bpe",
        minloglevel=2, character_coverage=1.0,
    )  # fmt: skip
    (folder / "subword.model").write_bytes(model.getvalue())
    pieces = list(read_sentencepiece_model(folder / "subword.model").pieces)
    assert (len(pieces) + 4) % 8 == 0  # fairseq fills no dictionary up with words of its own
    counts = dict.fromkeys(pieces[: len(pieces) - dropped], 1)
    for language in LANGUAGES:
        write_dictionary(folder / f"dict.{language}.txt", dictionary_lines(counts))
    preparation = Preparation(
        folder=folder,
        languages=list(LANGUAGES),
        tokenizers=dict.fromkeys(LANGUAGES, tokenizer),
        subword={"type": "sentencepiece", "model": "subword.model"},
        pairs={"test": dict.fromkeys(("de-en", "en-fr", "de-fr"), 4)},
        dictionary_sha256=checksum(folder / "dict.de.txt"),
        normalized=True,
    )
    index = load_dictionary(folder / "dict.de.txt").index
    sentences = [[*map(index, preparation.subwords.segment(line).split()), 2] for line in TEXT[:4]]
    for pair in ("de-en", "en-fr", "de-fr"):
        write_pair(folder, "test", pair, sentences, sentences)
    preparation.save()
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("raw") / "data")


def export(to: str, checkpoint: Path, data: Path, output: Path) -> str:
    """The README of the exported folder."""
    options = ("--to", to, "--data", data, "--check-lines", "2")
    assert fairseq_ext("export", checkpoint, output, *options) == 0
    return (output / "README.md").read_text(encoding="utf-8")


def translations(readme: str, folder: Path, monkeypatch) -> list[str]:
    """What the README's code makes of LINES."""
    monkeypatch.chdir(folder)
    exec(code_of(readme), names := {})
    return names["translate"](LINES, "de", "fr")


def code_of(readme: str) -> str:
    return readme.split("```python\n")[1].split("```")[0]


def encoded(loaded, preparation: Preparation) -> list[list[int]]:
    """LINES as the training would have read them, from de to fr."""
    tags, index = loaded.task.tags, loaded.task.dictionary.index
    front, end = tags.encoder_ids("de", "fr"), tags.source_ending_ids("de", "fr")
    return [[*front, *map(index, preparation.segment("de", line).split()), 2, *end] for line in LINES]


@pytest.mark.parametrize("tags", PLACEMENTS)
def test_ctranslate2_translates_raw_text(data, tmp_path, monkeypatch, tags):
    checkpoint = write_model(tmp_path / "model.pt", data, tags=tags)
    readme = export("ctranslate2", checkpoint, data, tmp_path / "out")
    loaded, preparation = load_for_inference(checkpoint, data), Preparation.load(data)
    symbols = loaded.task.dictionary.symbols
    sources = [[symbols[number] for number in ids] for ids in encoded(loaded, preparation)]
    forced = [] if tags == "s-enc-t-enc" else ["__fr__"]
    found = ctranslate2.Translator(str(tmp_path / "out")).translate_batch(
        sources, target_prefix=[forced] * len(sources), beam_size=5, max_decoding_length=63
    )
    outputs = [" ".join(one.hypotheses[0][len(forced) :]) for one in found]
    expected = [preparation.detokenize("fr", output) for output in outputs]
    assert translations(readme, tmp_path / "out", monkeypatch) == expected
    assert len(set(expected)) > 3


@pytest.mark.parametrize("tags", PLACEMENTS)
def test_transformers_reads_and_writes_raw_text(data, tmp_path, monkeypatch, tags):
    """The model in the README's code is given what ours is given, and what it writes becomes text."""
    checkpoint = write_model(tmp_path / "model.pt", data, tags=tags, share_all_embeddings=True)
    code = code_of(export("transformers", checkpoint, data, tmp_path / "out"))
    monkeypatch.chdir(tmp_path / "out")
    exec(code, names := {})  # translates, too
    loaded, preparation = load_for_inference(checkpoint, data), Preparation.load(data)
    expected, tag = encoded(loaded, preparation), loaded.task.tags.id_of("fr")
    given = []

    def generate(batch, attention_mask, **arguments):
        given.append((batch, attention_mask, arguments))
        front = len(loaded.task.tags.encoder_ids("de", "fr"))
        return pad_right([torch.tensor([2, tag, *ids[front:]]) for ids in expected], 1)

    names["model"].generate = generate
    texts = names["translate"](LINES, "de", "fr")
    ((batch, mask, arguments),) = given
    assert [row[row.ne(1)].tolist() for row in batch] == expected
    assert mask.equal(batch.ne(1))
    forced = {"s-enc-t-dec": {"forced_bos_token_id": tag}, "mbart": {"decoder_start_token_id": tag}}
    assert arguments == {**forced.get(tags, {}), "max_new_tokens": 63}
    segmented = [preparation.segment("fr", line) for line in LINES]
    known = [
        " ".join(unit for unit in line.split() if loaded.task.dictionary.index(unit) != 3)
        for line in segmented
    ]
    assert texts == [preparation.detokenize("fr", line) for line in known]


@pytest.mark.parametrize("options", [{"tokenizer": "moses"}, {"dropped": 4}], ids=str)
@pytest.mark.parametrize("to", ["ctranslate2", "transformers"])
def test_other_text_is_given_in_subwords(tmp_path, monkeypatch, to, options):
    folder = write_data(tmp_path / "data", **options)
    checkpoint = write_model(tmp_path / "model.pt", folder, share_all_embeddings=True)
    readme = export(to, checkpoint, folder, tmp_path / "out")
    assert "raw text" not in readme
    if to == "transformers":  # units of the dictionary stand in the code
        monkeypatch.chdir(tmp_path / "out")
        exec(code_of(readme), names := {})
        assert 3 not in names["batch"]["input_ids"]
