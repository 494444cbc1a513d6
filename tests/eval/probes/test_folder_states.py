"""States of folders of `transformers`, against the library called by hand, line by line."""

import json

import numpy as np
import pytest
import torch

from data_prep.model_folders.libraries import reading
from eval.probes.store import StateStore
from tests.eval.conftest import TEXTS, write_lines
from tests.eval.translation.test_fairseq_preprocess import SEARCH, with_byte_pairs
from tests.eval.translation.transformers_folders import SIZES, TEXT, WRITERS


@pytest.fixture
def lines(tmp_path):
    """Sets of de, en and fr: every line of `TEXTS` three times, each time a little longer."""
    for split in ("valid", "test"):
        for first, second in (("de", "en"), ("en", "fr"), ("de", "fr")):
            for language in (first, second):
                longer = [f"{line} {TEXT[0][:n]}".strip() for n in (0, 3, 7) for line in TEXTS[language]]
                write_lines(tmp_path / f"data/text/{split}.{first}-{second}.{language}", longer)
    return tmp_path / "data"


@pytest.fixture
def extract(command, tmp_path, lines):
    def run(folder, *options, data=("--data", lines)):
        output = tmp_path / "states"
        result = command(
            "probe", "states", "--checkpoint", folder, *data, "--output", output, "--cpu", *options
        )
        assert result.status == 0, result.err
        return StateStore.open(output)

    return run


def folder_of(tmp_path, kind):
    (tmp_path / kind).mkdir()
    return WRITERS[kind](tmp_path / kind)


def write_encoder(folder, kind):
    """A tiny BERT, or a tiny causal model whose tokenizer puts nothing behind a line."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = sorted({word for of_language in TEXTS.values() for line in of_language for word in line.split()})
    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ending = " [SEP]" if kind == "bert" else ""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"[CLS] $A{ending}", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special)
    fast.save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(1)
    if kind == "bert":
        BertModel(BertConfig(vocab_size=len(vocabulary), **sizes)).save_pretrained(folder)
    else:
        given = {"num_key_value_heads": 2, "max_position_embeddings": 64, **sizes}
        LlamaForCausalLM(LlamaConfig(vocab_size=len(vocabulary), **given)).save_pretrained(folder)
    return folder


def sentence(part, number):
    first, end = part.offsets[number : number + 2]
    return part.tokens[first:end].tolist(), part.all_states[:, first:end]


def by_hand(folder, class_name: str):
    import transformers

    return getattr(transformers, class_name).from_pretrained(folder).eval()


@pytest.mark.parametrize("kind", ["nllb", "mbart-50", "opus-mt-mul", "madlad"])
def test_states_of_an_encoder_decoder_are_the_librarys(tmp_path, extract, kind):
    """Of every line alone, in float32; the decoder reads what `generate` wrote."""
    folder = folder_of(tmp_path, kind)
    direction = "en-fr"
    store = extract(
        folder, "--dtype", "float32", "--splits", "test", "--directions", direction, "--max-len-b", 12
    )
    model = by_hand(folder, "AutoModelForSeq2SeqLM")
    encoder, decoder = store.encoder("test", direction), store.decoder("test", direction)
    layers = SIZES["encoder_layers"]
    has_norm = kind != "opus-mt-mul"
    assert store.encoder_layers == [f"L{n}" for n in range(layers + 1)] + ["encoder-norm"] * has_norm
    assert store.decoder_layers == ["decoder-embedding", "L2"] + ["decoder-norm"] * has_norm
    outputs = []
    for number in range(len(encoder)):
        source, states = sentence(encoder, number)
        given, written = sentence(decoder, number)
        assert source[-1] == given[0] == store.record["eos"]
        begin = model.generation_config.decoder_start_token_id or model.config.decoder_start_token_id
        ids = torch.tensor([[begin, *given[1:]]])
        with torch.no_grad():
            output = model(input_ids=torch.tensor([source]), decoder_input_ids=ids, output_hidden_states=True)
        for ours, theirs in ((states, output.encoder_hidden_states), (written, output.decoder_hidden_states)):
            np.testing.assert_allclose(ours[0], theirs[0][0], atol=1e-5)
            np.testing.assert_allclose(ours[-1], theirs[-1][0], atol=1e-5)
        if has_norm:
            network = model.get_encoder()
            norm = getattr(network, "layer_norm", None) or network.final_layer_norm
            np.testing.assert_allclose(norm(torch.tensor(np.array(states[1]))).detach(), states[2], atol=1e-4)
        with torch.no_grad():
            forced = {} if len(given) < 2 or given[1] not in store.record["tags"] else {
                "forced_bos_token_id": given[1]
            }  # fmt: skip
            best = model.generate(torch.tensor([source]), num_beams=5, max_new_tokens=12, **forced)[
                0
            ].tolist()
        outputs.append(best[1 : len(given)] == given[1:])
    assert sum(outputs) >= len(outputs) - 1  # two hypotheses may be equally probable


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_states_of_encoders_and_causal_models_are_the_librarys(tmp_path, extract, kind):
    folder = write_encoder(tmp_path / kind, kind)
    store = extract(folder, "--dtype", "float32", "--splits", "test")
    model = by_hand(folder, "AutoModel")
    assert store.decoder_layers == [] and store.record["eos"] == (3 if kind == "bert" else -1)
    assert store.encoder_layers == ["L0", "L1", "L2"] + ["encoder-norm"] * (kind == "llama")
    part = store.encoder("test", "de-en")
    assert part.path == store.encoder("test", "de-fr").path
    assert part.pieces[:3] == ["[CLS]", *TEXTS["de"][0].split()[:2]]
    for number in range(len(part)):
        tokens, states = sentence(part, number)
        with torch.no_grad():
            output = model(torch.tensor([tokens]), output_hidden_states=True).hidden_states
        np.testing.assert_allclose(states[[0, 1, -1]], torch.stack(output)[:, 0], atol=1e-5)
        assert tokens[0] == 2 and store.record["tags"] == ([0, 2] if kind == "bert" else [0, 2, 3])


@pytest.mark.parametrize("kind", ["nllb", "bert", "llama"])
def test_probes_run_on_them(tmp_path, extract, command, kind):
    folder = folder_of(tmp_path, kind) if kind == "nllb" else write_encoder(tmp_path / kind, kind)
    store = extract(
        folder, "--valid-directions", "all", "--supervised", "de-en,en-de,en-fr,fr-en", "--max-len-b", 8
    )
    assert len(store.supervised) == 4
    for probe in ("similarity", "cosine", "retrieval"):
        result = command("probe", probe, store.folder, "--output", tmp_path / probe)
        assert result.status == 0, result.err
    result = command("probe", "llr", store.folder, "--output", tmp_path / "llr", "--questions", "source")
    assert result.status == 0, result.err
    (run,) = json.loads((tmp_path / "llr/llr.json").read_text())["runs"]
    assert set(run["layers"]) == ({"encoder", "decoder"} if kind == "nllb" else {"encoder"})


def test_any_text(tmp_path, extract):
    """Lines of three files; those that are empty in one are left out of its pairs."""
    folder = write_encoder(tmp_path / "bert", "bert")
    for language, of_language in TEXTS.items():
        write_lines(
            tmp_path / f"my.{language}", [*of_language[:3], "" if language == "fr" else of_language[3]]
        )
    files = ",".join(f"{language}={tmp_path}/my.{language}" for language in TEXTS)
    store = extract(folder, "--input", files, "--splits", "mine", data=())
    assert len(store.encoder("mine", "de-en")) == 4 and len(store.encoder("mine", "de-fr")) == 3
    assert store.record["dataset"] == "mine"


def test_references_in_place_of_the_models_output(tmp_path, extract):
    folder = folder_of(tmp_path, "nllb")
    store = extract(folder, "--forced", "reference", "--splits", "test", "--directions", "de-en")
    with reading(folder, "transformers"):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder)
    assert store.decoder("test", "de-en").pieces[:2] == ["</s>", "eng_Latn"]
    tokens, _ = sentence(store.decoder("test", "de-en"), 0)
    assert tokens[1:] == [
        tokenizer.convert_tokens_to_ids("eng_Latn"),
        *tokenizer(TEXTS["en"][0], add_special_tokens=False)["input_ids"],
    ]


def test_one_output_of_two_sources_has_two_states(tmp_path, extract):
    """The decoder reads the same references, and attends to other sentences."""
    folder = folder_of(tmp_path, "nllb")
    store = extract(folder, "--forced", "reference", "--splits", "test")
    first, second = (store.decoder("test", direction) for direction in ("de-en", "fr-en"))
    assert (first.tokens == second.tokens).all()
    assert not np.allclose(first.states("L2"), second.states("L2"), atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--input", "de=a,en=b", "--data", "DATA"), "--input: in place of --data; leave out one of them"),
        (("--input", "de=a,en=b"), "--input: is one set; name it by --splits, found valid,test"),
        (("--splits", "dev", "--data", "DATA"), "no dev set; expected such as dev.de-en.de"),
        (("--layers", "L9", "--data", "DATA"), "'L9' is no layer of the model; it has: L0, L1, L2"),
        ((), "--data: is missing"),
    ],
)
def test_refused(tmp_path, command, lines, options, message):
    folder = write_encoder(tmp_path / "bert", "bert")
    options = [lines if option == "DATA" else option for option in options]
    result = command("probe", "states", "--checkpoint", folder, "--output", tmp_path / "out", *options)
    assert result.status == 2 and message in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--input", "de=a,en=b"), "--input: needs a model that reads raw text, found --checkpoint"),
        (
            ("--language-codes", "FILE"),
            "--language-codes: needs a folder of transformers, found",
        ),
        (
            ("--tokenizer", "none", "--untrained", 1),
            "--untrained: needs a checkpoint with its binarized",
        ),
    ],
)
def test_options_of_models_that_read_raw_text(tmp_path, command, lines, options, message):
    write_lines(tmp_path / "model.pt", [])
    given = ("--checkpoint", tmp_path / "model.pt", "--data", lines, "--output", tmp_path / "out")
    result = command("probe", "states", *given, *options)
    assert result.status == 2 and message in result.err and result.err.count("\n") == 1


def test_a_line_without_tokens_is_one_line(tmp_path, command):
    """A joiner alone is no space, and no piece of sentencepiece."""
    folder = folder_of(tmp_path, "nllb")
    for language in ("de", "en"):
        write_lines(tmp_path / f"data/text/test.de-en.{language}", ["\u200b"])
    given = ("--checkpoint", folder, "--data", tmp_path / "data", "--output", tmp_path / "out", "--cpu")
    result = command("probe", "states", *given, "--splits", "test")
    assert result.status == 2 and result.err.count("error: ") == 1
    assert "no tokens for the line '\\u200b'; leave it out of the data" in result.err


def test_states_of_stock_fairseq_with_a_dictionary_per_language(tmp_path, command):
    """Both sides read the ids of their own dictionaries; the store has the symbols of both."""
    case = with_byte_pairs(tmp_path / "data")
    given = ("--checkpoint", case.folder / "model.pt", "--data", case.folder, *case.words, *SEARCH)
    options = ("--splits", "test", "--dtype", "float32", "--output", tmp_path / "states")
    result = command("probe", "states", *given, *options)
    assert result.status == 0, result.err
    store = StateStore.open(tmp_path / "states")
    assert store.directions("test") == [("de", "en")] and store.supervised == {("de", "en")}
    encoder, decoder = store.encoder("test", "de-en"), store.decoder("test", "de-en")
    for number, (source, output) in enumerate(case.searched()):
        previous = torch.cat([torch.tensor([case.target.eos()]), output])
        with torch.no_grad():
            read = case.model.encoder(source[None], torch.tensor([len(source)]), return_all_hiddens=True)
            _, extra = case.model.decoder(previous[None], encoder_out=read, features_only=True)
        for part, side, ids, layers in (
            (encoder, case.source, source, read["encoder_states"]),
            (decoder, case.target, previous, extra["inner_states"]),
        ):
            first, end = part.offsets[number : number + 2]
            assert part.pieces[first:end] == [side[token] for token in ids]
            np.testing.assert_allclose(part.all_states[:, first:end], torch.stack(layers)[:, :, 0], atol=1e-5)
