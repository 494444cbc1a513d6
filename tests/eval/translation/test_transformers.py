"""`eval translate` with encoder-decoders of `transformers`: as `generate` called by hand."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from command_line.errors import InputError
from data_prep.model_folders.loading import check_ids
from eval.translation.model_options import load_translator
from eval.translation.transformers_model import TransformersModel
from tests.eval.translation.transformers_folders import SIZES, TEXT, WRITERS, write_opus_mt, write_t5
from tests.made_once import made_once

SEARCH = ("--cpu", "--max-len-b", "8", "--max-tokens", "60")
LINES = {
    "de": [
        "Das Wetter ist heute sehr schön.",
        "",
        "Zwei Kinder",
        "Park </s> Park >>fra<<",
        ">>fra<< im Park",
    ],
    "en": ["The weather is nice today.", "", "Two children", "nice", "football in the park, isn't it?"],
    "fr": ["Il fait beau aujourd'hui.", "", "Deux enfants", "beau </s>", "au football"],
}
PAIRS = ("de-en", "de-fr", "en-fr")
ALL = ["de-en", "de-fr", "en-de", "en-fr", "fr-de", "fr-en"]
FROM_ENGLISH = ["en-de", "en-fr"]
DIRECTIONS = {
    "m2m-100": ALL, "nllb": ALL, "mbart-50": ALL, "madlad": ALL,
    "opus-mt": ["en-de"], "opus-mt-mul": FROM_ENGLISH, "t5": FROM_ENGLISH,
}  # fmt: skip
NAMES = {"de": "German", "en": "English", "fr": "French"}
NLLB = {"de": "deu_Latn", "en": "eng_Latn", "fr": "fra_Latn"}
MBART = {"de": "de_DE", "en": "en_XX", "fr": "fr_XX"}
MARIAN = {"de": ">>deu<<", "fr": ">>fra<<"}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """Folders of all kinds, and a raw test set, which no test may change."""

    def make(folder: Path) -> None:
        for name, write in WRITERS.items():
            write(folder / name)
        (folder / "data/text").mkdir(parents=True)
        for pair in PAIRS:
            for language in pair.split("-"):
                text = "".join(f"{line}\n" for line in LINES[language])
                (folder / f"data/text/test.{pair}.{language}").write_text(text, encoding="utf-8")

    return made_once(tmp_path_factory, "transformers", make)


@pytest.fixture
def translate(root, command):
    def call(kind: str, *words, data: bool = True):
        given = ("--data", root / "data") if data else ()
        return command("translate", "--checkpoint", root / kind, *given, *SEARCH, *words)

    return call


def hypotheses(folder: Path) -> dict[str, list[str]]:
    return {path.stem: path.read_text().split("\n")[:-1] for path in folder.glob("*-*.txt")}


def by_hand(folder: Path, kind: str, direction: str, **options) -> list[str]:
    """One line after another, with the library alone."""
    source, target = direction.split("-")
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    given = {"max_new_tokens": 8, **options}
    before = ""
    if kind in ("m2m-100", "nllb", "mbart-50"):
        codes = {"m2m-100": {code: code for code in NAMES}, "nllb": NLLB, "mbart-50": MBART}[kind]
        tokenizer.src_lang = codes[source]
        tag = f"__{target}__" if kind == "m2m-100" else codes[target]
        given["forced_bos_token_id"] = tokenizer.convert_tokens_to_ids(tag)
    elif kind == "madlad":
        before = f"<2{target}> "
    elif kind == "t5":
        before = f"translate English to {NAMES[target]}: "
    elif kind == "opus-mt-mul":
        before = f"{MARIAN[target]} "
    lines = []
    for line in LINES[source]:
        inputs = tokenizer(before + line, return_tensors="pt")
        output = model.generate(**inputs, **given) if line else [[]]
        lines.append(" ".join(tokenizer.decode(output[0], skip_special_tokens=True).split()))
    return lines


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("kind", WRITERS)
def test_all_directions_as_generate_by_hand(root, translate, tmp_path, kind, beam):
    done = translate(kind, "--beam", str(beam), "--output", tmp_path)
    assert done.status == 0, done.err
    written = hypotheses(tmp_path)
    assert sorted(written) == DIRECTIONS[kind]
    special = {"Park </s> Park >>fra<<", "beau </s>", ">>fra<< im Park"}  # which are text for us alone
    for direction, lines in written.items():
        expected = by_hand(root / kind, kind, direction, num_beams=beam)
        sources = LINES[direction[:2]]
        assert len(lines) == len(sources) and lines[1] == ""
        plain = [number for number, line in enumerate(sources) if line not in special]
        assert [lines[number] for number in plain] == [expected[number] for number in plain], direction
    assert len({line for lines in written.values() for line in lines}) > len(DIRECTIONS[kind])


@pytest.mark.parametrize("kind", ["m2m-100", "nllb", "mbart-50", "opus-mt-mul", "madlad"])
def test_text_that_spells_special_tokens_is_text(root, kind):
    translator = TransformersModel(root / kind).translator(_options())
    special = set(translator.tokenizer.all_special_ids) - {translator.tokenizer.unk_token_id}
    tags = {translator.marks((source, target)).forced for source, target in (("en", "de"), ("en", "fr"))}
    texts = ("a </s> b", "__de__ a", "deu_Latn", "de_DE a", ">>fra<< a", "<pad>")
    for text in texts:
        ids = translator.ids(text, "de")
        assert ids and not (special | tags) & set(ids), text
        if kind == "opus-mt-mul":
            assert translator.tokenizer.convert_tokens_to_ids(">>fra<<") not in ids


def _options(**options):
    from eval.translation.search_options import DecodingOptions, SearchOptions
    from eval.translation.translator import TranslatorOptions

    search = SearchOptions(beam=options.pop("beam", 3), max_len_b=8)
    return TranslatorOptions(DecodingOptions(search, cpu=True), **options)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("kind", ["nllb", "opus-mt", "madlad"])
def test_scores_are_mean_log_probabilities(root, kind, beam):
    """Of the tokens behind the first one, without a forced tag, divided by the length with it."""
    translator = load_translator(root / kind, _options(beam=beam, n_best=beam))
    lines = [line for line in LINES["en"] if line]
    lists = translator.candidates(lines, "en", "de")
    assert [len(each) for each in lists] == [beam] * len(lines)
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(root / kind), translator.tokenizer
    sentences = [translator.sentences(line, ("en", "de"), "")[0] for line in lines]
    for sentence, candidates in zip(sentences, lists, strict=True):
        assert candidates == sorted(candidates, key=lambda candidate: -candidate.score)
        row = translator.row(sentence)
        forced = translator.marks(("en", "de")).forced
        ids, score = translator._search.n_best([row], forced, 1, with_scores=True)[0][0]
        ids = [ids[0], *(number for number in ids[1:] if number != tokenizer.pad_token_id)]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([row]), decoder_input_ids=torch.tensor([ids[:-1]])).logits[
                0
            ]
        log_p = logits.log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
        if forced is not None:
            log_p[0] = 0
        if len(ids) - 1 < 8:  # of others the last token may be forced, too
            assert score == pytest.approx(float(log_p.sum() / len(log_p)), abs=1e-4)
            assert score == pytest.approx(candidates[0].score, abs=1e-4)


def test_the_record_is_that_of_our_models(root, translate, command, tmp_path):
    words = ("--supervised", "de-en,en-de", "--dataset", "toy")
    assert translate("nllb", *words, "--output", tmp_path / "out").status == 0
    record = json.loads((tmp_path / "out/translate.json").read_text())
    kinds = {name: entry["kind"] for name, entry in record["directions"].items()}
    assert [name for name, kind in kinds.items() if kind == "supervised"] == ["de-en", "en-de"]
    assert record["system"] == {"name": "nllb", "seed": None, "translation_model": "nllb"}
    assert (record["dataset"], record["beam"], record["engine"]) == ("toy", 5, "pytorch")
    assert record["decoding"]["sentences"] == 6 * len(LINES["de"])
    assert command("score", tmp_path / "out", "--workers", "1").status == 0
    assert command("report", tmp_path / "out", "--output", tmp_path / "report").status == 0
    again = translate("nllb", *words, "--output", tmp_path / "out")
    assert "complete, skipped" in again.err


def test_zero_shot_directions_through_a_language(root, translate, tmp_path):
    words = ("--supervised", "de-en,en-fr", "--pivot", "en", "--directions", "de-fr")
    assert translate("m2m-100", *words, "--output", tmp_path).status == 0
    translator = load_translator(root / "m2m-100", _options(beam=5))
    english = translator.translate([line.strip() for line in LINES["de"]], "de", "en")
    assert hypotheses(tmp_path) == {"de-fr": translator.translate(english, "en", "fr")}


def test_a_killed_run_continues(root, translate, tmp_path, monkeypatch):
    from eval.translation.transformers_generate import GenerateSearch

    n_best, calls = GenerateSearch.n_best, []

    def killed(self, rows, *others):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(len(rows))
        return n_best(self, rows, *others)

    monkeypatch.setattr(GenerateSearch, "n_best", killed)
    with pytest.raises(KeyboardInterrupt):
        translate("m2m-100", "--output", tmp_path / "out")
    done = sum(calls)
    monkeypatch.setattr(
        GenerateSearch, "n_best", lambda *given: (calls.append(len(given[1])), n_best(*given))[1]
    )
    assert translate("m2m-100", "--output", tmp_path / "out").status == 0
    assert sum(calls) == 6 * (len(LINES["de"]) - 1) and done
    assert translate("m2m-100", "--output", tmp_path / "whole").status == 0
    assert hypotheses(tmp_path / "out") == hypotheses(tmp_path / "whole")


def test_any_text(root, translate, tmp_path):
    (tmp_path / "text.en").write_text("The weather is nice today.\n\nnice\n")
    words = ("--input", tmp_path / "text.en", "--direction", "en-de")
    result = translate("nllb", *words, data=False)
    expected = load_translator(root / "nllb", _options(beam=5)).translate(
        ["The weather is nice today.", "", "nice"], "en", "de"
    )
    assert (result.status, result.out.splitlines()) == (0, expected), result.err
    scored = translate("nllb", *words, "--n-best", "2", data=False).out.splitlines()
    assert [row.split("\t")[0] for row in scored] == ["1", "1", "2", "3", "3"]
    assert scored[0].split("\t")[2] == expected[0]


def test_long_lines_are_cut_or_split(root, capsys):
    line = "The weather is nice today. " * 10
    for kind in ("mbart-50", "opus-mt"):  # 40 positions
        cut = load_translator(root / kind, _options())
        room = cut.room(("en", "de"))
        assert [len(sentence.ids) for sentence in cut.sentences(line, ("en", "de"), "line 7")] == [room]
        assert "warning: line 7: " in capsys.readouterr().err
        split = load_translator(root / kind, _options(long_lines="split"))
        assert len(split.sentences(line, ("en", "de"), "line 7")) > 5
        assert split.translate([line], "en", "de")[0]


@pytest.mark.parametrize("kind", ["m2m-100", "nllb", "mbart-50", "opus-mt-mul", "madlad"])
def test_ctranslate2(root, translate, tmp_path, kind):
    """Its own converter, its own search: the same hypotheses, but for the `</s>` that transformers forces at
    the maximal length.
    """
    words = ("--beam", "1", "--max-len-b", "6")
    assert translate(kind, *words, "--output", tmp_path / "pytorch").status == 0
    engine = (*words, "--engine", "ctranslate2", "--engine-folder", tmp_path / "engine")
    done = translate(kind, *engine, "--output", tmp_path / "ctranslate2")
    assert done.status == 0, done.err
    ours, expected = hypotheses(tmp_path / "ctranslate2"), hypotheses(tmp_path / "pytorch")
    assert {name: len(lines) for name, lines in ours.items()} == {
        name: len(lines) for name, lines in expected.items()
    }
    pairs = [(line, other) for name in ours for line, other in zip(ours[name], expected[name], strict=True)]
    assert all(line.startswith(other) for line, other in pairs), pairs
    again = translate(kind, *engine, "--output", tmp_path / "again")
    assert "converted" in done.err and "converted" not in again.err
    assert json.loads((tmp_path / "again/translate.json").read_text())["engine"] == "ctranslate2 float32"


# --- what is refused


@pytest.fixture
def refused(root, tmp_path, command):
    def call(folder: Path, *words) -> str:
        given = ("--data", root / "data", "--output", tmp_path / "out", *SEARCH)
        result = command("translate", "--checkpoint", folder, *given, *words)
        assert result.status == 2 and result.err.count("\n") == 1, result.err
        return result.err

    return call


@pytest.mark.parametrize(
    ("kind", "words", "expected"),
    [
        ("nllb", "--directions de-xx", "no test set of de-xx"),
        ("opus-mt", "--directions de-en", "language 'de': not known to"),
        ("t5", "--directions de-en", "language 'de': not known to"),
        ("opus-mt", "--source-prefix x", "--source-prefix: needs a T5, found MarianTokenizer"),
        (
            "t5",
            "--source-prefix {text}",
            "--source-prefix: has the field {text}; expected {source}, {target}",
        ),
        ("nllb", "--language-contrast", "--language-contrast: needs a checkpoint of fairseq"),
        ("nllb", "--score-without-tag", "--score-without-tag: needs a checkpoint of fairseq"),
        ("nllb", "--pivot xx --supervised de-en", "language 'xx': not known to"),
        ("nllb", "--pivot en", "no test set for all directions through en"),
    ],
)
def test_options(root, refused, kind, words, expected):
    assert expected in refused(root / kind, *words.split())


def test_a_language_that_the_model_does_not_know(root, tmp_path, translate):
    (tmp_path / "text.xx").write_text("a\n")
    words = ("--input", tmp_path / "text.xx", "--direction", "tlh-de")
    result = translate("nllb", *words, data=False)
    assert result.status == 2 and "language 'tlh': not known to" in result.err and "more;" in result.err


def test_codes_of_a_file(root, tmp_path, translate, refused):
    (tmp_path / "codes").write_text("de fra_Latn\n\nfr fra_Latn\n")
    words = ("--language-codes", tmp_path / "codes", "--directions")
    assert translate("nllb", *words, "en-de,en-fr", "--output", tmp_path / "a").status == 0
    assert hypotheses(tmp_path / "a")["en-de"] == hypotheses(tmp_path / "a")["en-fr"]
    for content, expected in (
        ("de\n", "codes:1: 'de': no two codes"),
        ("de deu_Latn\nde fra_Latn", "codes:2: 'de fra_Latn': a code that a line above has"),
        ("de german", "language 'german': not known to"),
    ):
        (tmp_path / "codes").write_text(content)
        assert expected in refused(root / "nllb", *words, "en-de")


@pytest.fixture
def changed(root, tmp_path):
    """A copy of a folder, with a change."""

    def call(kind: str, change) -> Path:
        folder = shutil.copytree(root / kind, tmp_path / kind)
        change(folder)
        return folder

    return call


def _set(name: str, **fields):
    def change(folder: Path) -> None:
        path = folder / name
        record = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**record, **fields}))

    return change


def _without_tokenizer(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name not in ("config.json", "generation_config.json", "model.safetensors"):
            path.unlink()


def _larger_tokenizer(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["one", "more"])
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        ("nllb", _without_tokenizer, "no tokenizer in it"),
        ("nllb", _larger_tokenizer, "its tokenizer has ids up to"),
        ("opus-mt", _larger_tokenizer, "its tokenizer has ids up to"),
        ("opus-mt", _set("tokenizer_config.json", target_lang="gem"), "field 'target_lang' is 'gem'"),
        ("opus-mt", _set("tokenizer_config.json", target_lang=3), "field 'target_lang' is 3"),
        ("opus-mt", _set("config.json", vocab_size=None), "and the model 0 vectors of tokens"),
        ("opus-mt", _set("config.json", dropout=None), "not a model of encoder-decoders of transformers: "),
        ("opus-mt", _set("tokenizer_config.json", eos_token=None), "its tokenizer has no eos_token"),
        ("opus-mt", _set("generation_config.json", bad_words_ids=[[-1]]), "have the bad_words_ids -1"),
        ("opus-mt", _set("generation_config.json", eos_token_id=9999), "have the eos_token_id 9999"),
        (
            "nllb",
            _set("config.json", model_type="llama", is_encoder_decoder=False),
            "which is no encoder-decoder; `llm translate` asks",
        ),
        ("t5", _set("config.json", task_specific_params=None), "give --source-prefix, such as"),
        ("nllb", lambda folder: (folder / "model.safetensors").unlink(), "no weights in it"),
    ],
)
def test_folders(changed, refused, kind, change, expected):
    assert expected in refused(changed(kind, change))


def test_a_model_that_samples_is_searched(root, changed, translate, tmp_path):
    """What a folder says of sampling or beams is not read."""
    folder = changed("opus-mt", _set("generation_config.json", do_sample=True, num_beams=7, max_length=3))
    ours = load_translator(folder, _options()).translate(LINES["en"], "en", "de")
    assert ours == load_translator(root / "opus-mt", _options()).translate(LINES["en"], "en", "de")


def test_a_language_of_several_meanings(tmp_path):
    write_opus_mt(tmp_path / "model", "eng", "zho", ("cmn_Hans", "cmn_Hant"))
    translator = load_translator(tmp_path / "model", _options())
    translator.check("en", "zh")  # Chinese in simplified characters, as CLDR has it
    translator.check("en", "zh_Hant")
    write_t5(tmp_path / "t5", ("<2zh_CN>", "<2zh_SG>"))
    with pytest.raises(InputError, match=r"language 'zh': may be zh_CN, zh_SG of .*--language-codes"):
        load_translator(tmp_path / "t5", _options()).check("zh_CN", "zh")


def test_any_source_of_a_group(tmp_path):
    translator = load_translator(write_opus_mt(tmp_path, "roa", "eng"), _options())
    assert translator.translate(TEXT[4:6], "fr", "en") == translator.translate(TEXT[4:6], "es", "en")
    with pytest.raises(InputError, match="language 'de': not known to"):
        translator.check("fr", "de")


def test_only_folders_of_transformers_have_their_options(tmp_path, command):
    words = ("translate", "--checkpoint", tmp_path / "x.pt", "--data", tmp_path, "--output", tmp_path / "o")
    result = command(*words, "--supervised", "de-en")
    assert result.status == 2 and "--supervised: needs a folder of transformers" in result.err


def test_a_language_without_a_vector_is_refused(tmp_path):
    """A tokenizer of M2M-100 need not list its languages among its words and special tokens."""
    from transformers import M2M100Config, M2M100Model, M2M100Tokenizer

    WRITERS["m2m-100"](tmp_path)
    tokenizer = M2M100Tokenizer(*(str(tmp_path / name) for name in ("vocab.json", "sentencepiece.bpe.model")))
    most = max(tokenizer.lang_code_to_id.values())
    assert most > max(*tokenizer.get_vocab().values(), *tokenizer.all_special_ids)
    for rows, is_refused in ((most, True), (most + 1, False)):
        model = M2M100Model(M2M100Config(vocab_size=rows, **SIZES))
        refused = pytest.raises(InputError, match=f"ids up to {most}, and the model {rows} vectors of tokens")
        with refused if is_refused else contextlib.nullcontext():
            check_ids(tokenizer, model, tmp_path)
