"""`eval translate` with a folder of `fairseq-preprocess`: dictionaries per language, subwords by options.

The reference is stock fairseq: its model and its `SequenceGenerator`; text is split by the libraries alone.
"""

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel
from fairseq.sequence_generator import SequenceGenerator
from sacremoses import MosesDetokenizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from eval.api import FairseqModel, TranslatorOptions, load_model
from eval.translation.search_options import DecodingOptions, SearchOptions
from tests.fairseq_ext.models import SIZES

TEXT = {
    "de": ["Zwei Kinder spielen im Park.", "Das Wetter ist schön & warm!", "", "Ein Hund läuft", "unbekannt"],
    "en": ["Two children play in the park.", "The weather is nice & warm!", "", "A dog runs", "unknown"],
}
KNOWN = 4  # lines of which the models of subwords and the dictionaries are made
SEARCH = ("--cpu", "--beam", "3", "--max-len-b", "10")


class Sides:
    """Source and target dictionary, as a task of fairseq has them."""

    def __init__(self, source: Dictionary, target: Dictionary):
        self.source_dictionary, self.target_dictionary = source, target


class Case:
    """A folder of `fairseq-preprocess` with raw test sets, a checkpoint, and how stock fairseq translates.

    Args:
        segment: of raw text of a language.
        join: units of English, to raw text.
        words: the options that say so.
        seed: of weights with which translations differ.
    """

    def __init__(
        self,
        folder: Path,
        segment: Callable[[str, str], str],
        join: Callable[[str], str],
        words: tuple,
        seed: int,
    ):
        self.folder, self.segment, self.join, self.words = folder, segment, join, words
        (folder / "text").mkdir(parents=True, exist_ok=True)
        dictionaries = []
        for language, lines in TEXT.items():
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"text/test.de-en.{language}").write_text(text, encoding="utf-8")
            dictionary = Dictionary()
            for line in lines[:KNOWN]:
                for unit in segment(language, line).split():
                    dictionary.add_symbol(unit)
            dictionary.finalize(padding_factor=1)
            dictionary.save(str(folder / f"dict.{language}.txt"))
            dictionaries.append(dictionary)
        self.source, self.target = dictionaries
        sizes = {**SIZES, "encoder_layers": 1, "decoder_layers": 1, "share_all_embeddings": False}
        options = Namespace(_name="transformer", arch="transformer", **sizes)
        torch.manual_seed(seed)
        self.model = TransformerModel.build_model(options, Sides(self.source, self.target)).eval()
        for name, weight in self.model.named_parameters():  # so that translations depend on their sources
            scale = 0.1 if name == "decoder.embed_tokens.weight" else 6 if "encoder_attn" in name else 2
            weight.data = torch.randn_like(weight) * scale * weight.shape[-1] ** -0.5
        task = {"_name": "translation", "source_lang": "de", "target_lang": "en"}
        limits = {"max_source_positions": 64, "max_target_positions": 64}
        state = {
            "args": None,
            "cfg": {"model": options, "task": {**limits, **task}, "common": {"seed": 1}},
            "model": self.model.state_dict(),
            "optimizer_history": [{"num_updates": 7, "optimizer_name": "Adam", "lr_scheduler_state": {}}],
            "extra_state": {"train_iterator": {"epoch": 2, "iterations_in_epoch": 3}},
            "last_optimizer_state": None,
        }
        torch.save(state, folder / "model.pt")

    def searched(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Token ids of every line that is not empty, with `</s>`, and of its best hypothesis, without."""
        generator = SequenceGenerator([self.model], self.target, beam_size=3, max_len_a=0, max_len_b=10)
        searched = []
        for line in filter(None, TEXT["de"]):
            ids = self.source.encode_line(self.segment("de", line), add_if_not_exist=False).long()
            net_input = {"src_tokens": ids[None], "src_lengths": torch.tensor([len(ids)])}
            best = generator.generate([self.model], {"net_input": net_input})[0][0]["tokens"][:-1]
            searched.append((ids, best))
        return searched

    def translated(self) -> list[str]:
        hypotheses = iter(self.searched())
        return [self.join(self.target.string(next(hypotheses)[1])) if line else "" for line in TEXT["de"]]


def with_byte_pairs(folder: Path) -> Case:
    """As fairseq's example of IWSLT'14: Moses, lower case, codes of both languages."""
    folder.mkdir(parents=True)
    moses = {language: MosesTokenizer(language) for language in TEXT}

    def tokenized(language: str, line: str) -> str:
        return moses[language].tokenize(line, return_str=True).lower()

    words = Counter(
        word
        for language, lines in TEXT.items()
        for line in lines[:KNOWN]
        for word in tokenized(language, line).split()
    )
    with open(folder / "codes", "w", encoding="utf-8") as stream:
        learn_bpe([f"{word} {count}" for word, count in words.items()], stream, 30, is_dict=True)
    with open(folder / "codes", encoding="utf-8") as stream:
        pairs = BPE(stream)
    detokenizer = MosesDetokenizer("en")
    return Case(
        folder,
        lambda language, line: pairs.process_line(tokenized(language, line)),
        lambda units: detokenizer.detokenize(f"{units} ".replace("@@ ", "").split()),
        ("--bpe-codes", folder / "codes", "--lowercase"),
        seed=1,
    )


def with_pieces(folder: Path) -> Case:
    folder.mkdir(parents=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for lines in TEXT.values() for line in lines[:KNOWN] if line),
        model_prefix=str(folder / "sp"), vocab_size=60, hard_vocab_limit=False, minloglevel=2, num_threads=1,
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sp.model"))
    return Case(
        folder,
        lambda language, line: " ".join(model.encode(line, out_type=str)),
        lambda units: " ".join(units.replace(" ", "").replace("▁", " ").split()),
        ("--sentencepiece-model", folder / "sp.model"),
        seed=10,
    )


def with_words(folder: Path) -> Case:
    return Case(folder, lambda language, line: line, lambda units: units, ("--tokenizer", "none"), seed=10)


@pytest.fixture
def translate(command):
    def call(case: Case, *words):
        given = ("--checkpoint", case.folder / "model.pt", "--data", case.folder, *SEARCH)
        return command("translate", *given, *words)

    return call


@pytest.mark.parametrize("write", [with_byte_pairs, with_pieces, with_words])
def test_hypotheses_are_those_of_stock_fairseq(translate, command, tmp_path, write):
    case = write(tmp_path / "data")
    assert len(case.source) != len(case.target)
    done = translate(case, *case.words, "--output", tmp_path / "out")
    assert done.status == 0, done.err
    hypotheses = (tmp_path / "out/de-en.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert hypotheses == case.translated()
    assert len(set(hypotheses)) >= KNOWN
    record = json.loads((tmp_path / "out/translate.json").read_text())
    assert {name: each["kind"] for name, each in record["directions"].items()} == {"de-en": "supervised"}
    assert record["system"]["architecture"] == "transformer"
    assert command("score", tmp_path / "out", "--workers", "1").status == 0


def test_from_python(tmp_path):
    case = with_byte_pairs(tmp_path / "data")
    files = {"data": case.folder, "bpe_codes": case.folder / "codes", "lowercase": True}
    search = SearchOptions(beam=3, max_len_b=10)
    options = TranslatorOptions(decoding=DecodingOptions(search=search, cpu=True))
    model = load_model(FairseqModel(case.folder / "model.pt", **files), options=options)
    assert model.translator.translate(TEXT["de"], "de", "en") == case.translated()
    (states,) = model.states(TEXT["de"][:1], "de", "en")
    assert states.decoder_tokens == ["</s>", *(case.target[token] for token in case.searched()[0][1])]


def test_any_text(translate, tmp_path):
    case = with_byte_pairs(tmp_path / "data")
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in TEXT["de"]), encoding="utf-8")
    done = translate(case, *case.words, "--input", tmp_path / "text", "--direction", "de-en")
    assert (done.status, done.out.split("\n")[:-1]) == (0, case.translated()), done.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "preparation.json: no such file; expected in the output of `python -m data_prep binarize`. For"
         " a folder of fairseq-preprocess, say how its text was split: --bpe-codes or --sentencepiece-model"
         " FILE, --tokenizer NAME"),
        (["--bpe-codes", "{f}/none"], "none: no such file; expected a model of subwords"),
        (["--bpe-codes", "{f}/model.pt"], "model.pt: not a file of subword-nmt merges"),
        (["--bpe-codes", "{f}/empty"], "empty: not a file of subword-nmt merges: Error: invalid line 1"),
        (["--sentencepiece-model", "{f}/dict.de.txt"], "dict.de.txt: not a sentencepiece model"),
        (["--bpe-codes", "{f}/dict.de.txt", "--sentencepiece-model", "{f}/dict.de.txt"], "leave out one"),
        (["--tokenizer", "ours"], "--tokenizer ours: unknown tokenizer 'ours'; expected one of"),
        (["--tokenizer", "none", "--engine", "ctranslate2"], "--engine ctranslate2: needs a checkpoint with"),
        (["--tokenizer", "none", "--language-codes", "x"], "--language-codes: needs a folder of"),
        (["--tokenizer", "none", "--directions", "en-de"], "direction en-de: the model translates de-en"),
    ],
)  # fmt: skip
def test_nonsense_is_one_line(translate, tmp_path, words, expected):
    case = with_words(tmp_path / "data")
    (case.folder / "empty").touch()
    words = [word.replace("{f}", str(case.folder)) for word in words]
    done = translate(case, *words, "--output", tmp_path / "out")
    assert done.status == 2 and done.err.count("\n") == 1, done.err
    assert expected in done.err


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda folder: (folder / "dict.de.txt").unlink(), "dict.de.txt: no such file, expected"),
        (lambda folder: (folder / "dict.de.txt").write_text("a 1\n"), "dict.*.txt: 5 symbols, but"),
        (lambda folder: (folder / "dict.en.txt").write_text("a 1\n"), "size mismatch"),
        (
            lambda folder: [path.unlink() for path in folder.glob("dict.*")],
            "no dict.LANG.txt in it; expected those",
        ),
        (
            lambda folder: (folder / "text").rename(folder / "others"),
            "text: no such folder; expected raw test sets",
        ),
        (lambda folder: (folder / "model.pt").unlink(), "model.pt: no such file; expected a checkpoint"),
    ],
)
def test_folders(translate, tmp_path, change, expected):
    case = with_words(tmp_path / "data")
    change(case.folder)
    done = translate(case, "--tokenizer", "none", "--output", tmp_path / "out")
    assert done.status == 2 and done.err.count("\n") == 1, done.err
    assert expected in done.err and str(case.folder) in done.err
