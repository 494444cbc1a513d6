"""What is learned against a plain loop, what the model reads and says, and which encoders are taken."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from command_line.errors import InputError
from embeddings.finetuning import training
from embeddings.finetuning.model import collated, load_model, load_tokenizer, predictor
from embeddings.finetuning.options import Training
from embeddings.finetuning.pairs import Pairs
from embeddings.finetuning.registry import TASKS
from embeddings.finetuning.task import IGNORED, Reader, read_files
from embeddings.finetuning.training import Learner
from embeddings.parallel_validation import ParallelValidation
from tests.data_prep.tokenizer_folders import write_gpt2 as write_gpt2_tokenizer
from tests.embeddings.calibration.english import write_bert
from tests.embeddings.encoders.folders import write_sentence_transformers
from tests.embeddings.finetuning.inference import write_inference
from tests.embeddings.finetuning.squad import question, write_squad
from tests.embeddings.test_retrieve import write

CLASSES = ("contradiction", "entailment", "neutral")
NO_WORKER = {"dataloader_num_workers": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_inference(tmp_path_factory.mktemp("inference") / "data", count=12)
    write_bert(folder / "bert")
    return folder


def job(folder, **options) -> Training:
    given = {
        "model": folder / "bert", "pooler": None, "task": "pairs", "code_switching": None, "epochs": 2,
        "train": [("en", folder / "train.en.jsonl")], "valid": [("de", folder / "valid.tsv")],
        "validation": ParallelValidation(None, None), "layer": None,
        "batch_size": 8, "learning_rate": 1e-3, "warmup": 3, "max_length": 20, "checkpoints": 2, "seed": 5,
        "precision": "float32", "cpu": True,
    }  # fmt: skip
    return Training(**given | options)


def learner(job: Training) -> Learner:
    return Learner(job, read_files(job.what, job.train), read_files(job.what, job.valid or ()))


def loss_of(model, batch: dict) -> torch.Tensor:
    inputs = {name: values for name, values in batch.items() if name != "labels"}
    return functional.cross_entropy(model(**inputs).logits, batch["labels"])


def test_it_learns_as_a_plain_loop_does(folder, tmp_path):
    """AdamW whose decay spares biases and norms, gradients of length 1 at most, a rate that grows over 3
    updates and falls to 0; both from the same head.
    """
    encoder = shutil.copytree(folder / "bert", tmp_path / "bert")
    config = json.loads((encoder / "config.json").read_text())
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (encoder / "config.json").write_text(json.dumps(config | without_dropout))
    trained, plain = (learner(job(folder, model=encoder)) for _ in range(2))
    trained.train(tmp_path / "out")

    model, updates = plain.model.train(), len(plain.course)
    assert updates == 10
    decayed = [value for name, value in model.named_parameters() if value.ndim > 1]
    others = [value for name, value in model.named_parameters() if value.ndim == 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups)
    for update in range(updates):
        rate = 1e-3 * min(update / 3, (updates - update) / (updates - 3))
        for group in optimizer.param_groups:
            group["lr"] = rate
        examples = plain.course[update]
        windows = [window for example in examples for window in plain.job.what.windows(example, plain.reader)]
        optimizer.zero_grad()
        loss_of(model, collated(plain.reader, windows)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    weights = trained.model.state_dict()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(weights[name], value, atol=2e-6, rtol=0)


def test_windows_are_made_beside_the_training(folder, tmp_path, monkeypatch):
    """By a process that waits for no threads of its parent's tokenizer; what is learned does not depend on
    it.
    """
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    arguments, windows, seen = training.ordered_arguments, Pairs.windows, tmp_path / "seen"

    def noted(self, example, reader):
        with seen.open("a") as stream:
            stream.write(f"{os.getpid() == parent} {os.environ['TOKENIZERS_PARALLELISM']}\n")
        return windows(self, example, reader)

    parent, beside, alone = os.getpid(), learner(job(folder)), learner(job(folder))
    with monkeypatch.context() as patch:
        patch.setattr(Pairs, "windows", noted)
        beside.train(tmp_path / "beside")
    assert set(seen.read_text().splitlines()) == {"False false", "True true"}  # the latter of validation
    monkeypatch.setattr(
        training, "ordered_arguments", lambda *given, **others: arguments(*given, **others | NO_WORKER)
    )
    alone.train(tmp_path / "alone")
    weights = beside.model.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in alone.model.state_dict().items())


@pytest.mark.parametrize("kind", ["bert", "gpt2", "gpt2-padding"])
def test_what_the_model_says_of_a_window_does_not_depend_on_the_others(folder, tmp_path, kind):
    """GPT-2, whose head looks for padding, has none; or its configuration has another than its tokenizer."""
    model = folder / kind if kind == "bert" else write_gpt2(tmp_path / kind, own_padding=kind != "gpt2")
    learned = learner(job(folder, model=model, max_length=48))
    learned.model.eval()
    examples = (
        learned.valid[0].examples + read_files(Pairs(), [("en", folder / "train.en.jsonl")])[0].examples
    )
    windows = [Pairs().windows(example, learned.reader)[0] for example in examples]
    assert len({len(window["input_ids"]) for window in windows}) > 4
    predict = predictor(learned.model, learned.reader, batch_size=4, precision="float32")
    for window, said in zip(windows, predict(windows), strict=True):
        inputs = {name: torch.tensor([window[name]]) for name in window if name != "labels"}
        expected = learned.model(**inputs).logits[0].detach().numpy()
        assert np.allclose(said["logits"], expected, atol=1e-5)


def write_gpt2(folder, own_padding: bool = False):
    """A GPT-2 with a tokenizer that has no padding; with some of the model's own, only that has it."""
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    tokenizer = AutoTokenizer.from_pretrained(write_gpt2_tokenizer(folder))
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    config = GPT2Config(len(tokenizer), n_positions=48, n_embd=16, n_layer=1, n_head=2)
    config.pad_token_id = 7 if own_padding else None
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def test_an_encoder_without_padding_is_trained_and_read_again(folder, tmp_path):
    """The end of a text becomes padding, for the `pipeline` of transformers, too."""
    from transformers import pipeline

    from embeddings.finetuning.training import tested

    learned = learner(job(folder, model=write_gpt2(tmp_path / "gpt2")))
    learned.train(tmp_path / "out")
    model, tokenizer = load_model(tmp_path / "out/model", Pairs()), load_tokenizer(tmp_path / "out/model")
    assert (
        learned.reader.padding
        == model.config.pad_token_id
        == tokenizer.pad_token_id
        == tokenizer.eos_token_id
    )
    (valid,) = read_files(learned.job.what, learned.job.valid)
    (scores,) = tested(learned.job, tmp_path / "out/model", [valid]).values()
    classify = pipeline("text-classification", model=str(tmp_path / "out/model"), device=-1, batch_size=4)
    texts = [{"text": pair.first, "text_pair": pair.second} for pair in valid.examples]
    said = classify(texts, padding=True, truncation=True, max_length=learned.reader.longest)
    right = [example["label"] == pair.label for example, pair in zip(said, valid.examples, strict=True)]
    assert scores.values["accuracy"] == pytest.approx(100 * np.mean(right))


def test_an_encoder_without_padding_and_end_of_a_text_is_refused(folder, tmp_path):
    from transformers import PreTrainedTokenizerFast

    path = write_gpt2(tmp_path / "gpt2")
    bare = PreTrainedTokenizerFast(tokenizer_object=load_tokenizer(path).backend_tokenizer)
    for file in path.glob("*token*"):
        file.unlink()
    bare.save_pretrained(path)
    with pytest.raises(InputError, match="gpt2: neither its configuration nor its tokenizer has a token for"):
        learner(job(folder, model=path))


def test_windows_are_padded_at_their_ends(folder):
    tokenizer = load_tokenizer(folder / "bert")
    reader = Reader(tokenizer, 20, padding=tokenizer.pad_token_id)
    windows = [
        {"input_ids": [5, 6, 7], "attention_mask": [1, 1, 1], "labels": [1, 2, 0], "_words": 3},
        {"input_ids": [5], "attention_mask": [1], "labels": [1], "_words": 1},
    ]
    batch = collated(reader, windows)
    pad = tokenizer.pad_token_id
    assert batch["input_ids"].tolist() == [[5, 6, 7], [5, pad, pad]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [[1, 2, 0], [1, IGNORED, IGNORED]]
    assert set(collated(reader, windows, with_targets=False)) == {"input_ids", "attention_mask"}


def test_code_switching_puts_both_forms_of_an_example_into_one_batch(folder):
    files = [("en", folder / "train.en.jsonl"), ("de", folder / "train.de.tsv")]
    learned = learner(job(folder, train=files, code_switching=[folder / "train.en.jsonl"], epochs=1))
    assert learned.examples == {"en": 36, "de": 36}
    batches = [learned.course[number] for number in range(len(learned.course))]
    assert sum(map(len, batches)) == 3 * 36
    english = read_files(Pairs(), files[:1])[0].examples
    firsts, seconds = {pair.first for pair in english}, {pair.second for pair in english}
    switched = [[pair for pair in batch if pair not in english] for batch in batches]
    assert sum(map(len, switched)) == 2 * 36
    for batch in switched:
        places = [pair.place for pair in batch]
        assert all(places.count(place) == 2 for place in places)
        assert all((pair.first in firsts) != (pair.second in seconds) for pair in batch)  # one is English


def test_what_cannot_be_learned_from_is_left_out_of_training_alone(folder, tmp_path):
    """Questions without an answer in their context: of translations, of originals, and not of validation."""
    starts = {"q1": 0, "q2": 3, "q3": 6}
    english = [question(name, "Wer?", (word, starts[name])) for name, word in zip(starts, "abc", strict=True)]
    german = [question(name, "Who?", ("d" if name == "q1" else "a", 0)) for name in starts]
    files = {"en": ("a .b .x", *english), "de": ("a b c", *german)}
    paths = {name: write_squad(tmp_path / f"{name}.json", squad) for name, squad in files.items()}
    given = {"task": "answers", "model": folder / "bert", "warmup": 0, "max_length": 24}
    trained = {"train": [("de", paths["de"])], "code_switching": [paths["en"]]}
    trained["valid"] = [("en", paths["en"])]
    learned = learner(job(folder, **given, **trained))
    assert learned.examples == {"de": 2}
    assert [question.id for question in learned.course[0]] == ["q2", "q2"]
    assert [question.id for question in learned.valid[0].examples] == list(starts)


def test_several_files_of_originals_and_of_their_translations(folder, tmp_path):
    """Cut in other places, they are what one file of each is."""
    english = (folder / "train.en.jsonl").read_text().splitlines()
    german = (folder / "train.de.tsv").read_text().splitlines()
    originals = [write(tmp_path / f"{n}.jsonl", part) for n, part in enumerate((english[:9], english[9:]))]
    parts = [
        write(tmp_path / f"{n}.tsv", [german[0], *part]) for n, part in enumerate((german[1:20], german[20:]))
    ]
    whole = job(folder, train=[("de", folder / "train.de.tsv")], code_switching=[folder / "train.en.jsonl"])
    in_parts = job(folder, train=[("de", path) for path in parts], code_switching=originals)
    groups, expected = (
        [
            [(example.first, example.second, example.label) for example in group]
            for group in learner(each).course.groups
        ]
        for each in (in_parts, whole)
    )
    assert groups == expected and len(groups) == 36


def test_the_head_is_drawn_with_the_seed(folder):
    weights = [learner(job(folder, seed=seed)).model.classifier.weight for seed in (1, 1, 2)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_a_folder_of_sentence_transformers(folder, tmp_path):
    """Its transformer is taken, wherever it lies."""
    path = write_sentence_transformers(tmp_path / "st", dense=8)
    model, tokenizer = load_model(path, Pairs(), CLASSES), load_tokenizer(path)
    from sentence_transformers import SentenceTransformer

    states = SentenceTransformer(str(path), device="cpu")[0].auto_model.state_dict()
    weights = model.base_model.state_dict()
    assert states and all(
        torch.equal(weights[name], value) for name, value in states.items() if name in weights
    )
    assert model.config.id2label == dict(enumerate(CLASSES)) and tokenizer.is_fast


def test_an_encoder_with_the_head_of_another_task(folder, tmp_path):
    """Of another size it is left out, and drawn anew."""
    load_model(folder / "bert", Pairs(), CLASSES[:2]).save_pretrained(tmp_path / "two")
    load_tokenizer(folder / "bert").save_pretrained(tmp_path / "two")
    assert load_model(tmp_path / "two", Pairs(), CLASSES).classifier.weight.shape[0] == 3
    assert load_model(tmp_path / "two", Pairs()).classifier.weight.shape[0] == 2


def test_the_pooler_of_another_folder(folder, tmp_path, capsys):
    """Of an encoder that has none, as it is after an alignment."""
    from transformers import AutoModel, BertConfig, BertModel

    model = AutoModel.from_pretrained(folder / "bert")
    whole, model.pooler = model.pooler.state_dict(), None
    bare = shutil.copytree(folder / "bert", tmp_path / "bare")
    model.save_pretrained(bare)
    new = learner(job(folder, model=bare)).model.bert.pooler.state_dict()
    assert capsys.readouterr().err == (
        f"warning: --model {bare}: has no pooler, on which the head stands; a new one is drawn by chance\n"
    )
    taken = learner(job(folder, model=bare, pooler=folder / "bert")).model.bert.pooler.state_dict()
    learner(job(folder))
    assert capsys.readouterr().err == ""
    assert all(torch.equal(taken[name], value) for name, value in whole.items())
    assert not torch.equal(new["dense.weight"], whole["dense.weight"])

    with pytest.raises(InputError, match=f"--pooler {bare}: 2 weights are missing"):
        learner(job(folder, pooler=bare))
    narrow = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
    BertModel(narrow).save_pretrained(tmp_path / "narrow")
    with pytest.raises(InputError, match="narrow: its pooler is of another size than the encoder's"):
        learner(job(folder, pooler=tmp_path / "narrow"))


def write_other(kind: str, folder):
    """An encoder of another kind with a tokenizer that says which text a token is of."""
    import transformers

    bert = transformers.AutoTokenizer.from_pretrained(write_bert(folder / "bert"))
    names = {f"{role}_token": getattr(bert, f"{role}_token") for role in ("unk", "cls", "sep", "pad")}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bert.backend_tokenizer, **names)
    tokenizer.save_pretrained(folder / kind)
    sizes = {"vocab_size": len(bert), "max_position_embeddings": 40, "pad_token_id": bert.pad_token_id}
    sizes |= {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}
    if kind == "mbart":
        inner = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
        config = transformers.MBartConfig(**sizes, **inner, decoder_attention_heads=2)
        transformers.MBartModel(config).save_pretrained(folder / kind)
    elif kind == "distilbert":
        transformers.DistilBertModel(transformers.DistilBertConfig(**sizes)).save_pretrained(folder / kind)
    elif kind == "gpt2":
        transformers.GPT2Model(transformers.GPT2Config(**sizes)).save_pretrained(folder / kind)
    elif kind == "t5":
        config = transformers.T5Config(len(bert), 16, d_kv=8, d_ff=32, num_layers=1, num_heads=2)
        transformers.T5EncoderModel(config).save_pretrained(folder / kind)
    elif kind == "xlnet":
        config = transformers.XLNetConfig(len(bert), 16, n_layer=1, n_head=2, d_inner=32)
        transformers.XLNetModel(config).save_pretrained(folder / kind)
    elif kind == "xmod":
        config = transformers.XmodConfig(**sizes, intermediate_size=32, languages=["en_XX", "de_DE"])
        transformers.XmodModel(config).save_pretrained(folder / kind)
    else:
        config = transformers.RobertaConfig(**sizes, intermediate_size=32, type_vocab_size=1)
        transformers.RobertaModel(config).save_pretrained(folder / kind)
    return folder / kind


@pytest.mark.parametrize("kind", ["distilbert", "roberta", "gpt2"])
def test_encoders_that_do_not_read_which_text_a_token_is_of(folder, tmp_path, kind):
    from transformers import AutoTokenizer

    from embeddings.finetuning.training import tested

    learned = learner(job(folder, model=write_other(kind, tmp_path)))
    assert "token_type_ids" in AutoTokenizer.from_pretrained(tmp_path / kind)("a", "b")
    learned.train(tmp_path / "out")
    assert "token_type_ids" not in load_tokenizer(tmp_path / "out/model")("a", "b")
    tests = read_files(learned.job.what, learned.job.valid)
    assert tested(learned.job, tmp_path / "out/model", tests).keys() == {"de"}


@pytest.mark.parametrize(
    ("kind", "task", "message"),
    [
        ("mbart", "pairs", "is of the kind mbart, whose decoder the head of --task pairs would read"),
        ("mbart", "names", "is of the kind mbart, for which transformers has no head of --task names"),
        ("t5", "pairs", "is of the kind t5, whose decoder the head of --task pairs would read"),
        ("t5", "answers", "is of the kind t5, whose decoder the head of --task answers would read"),
        ("xlnet", "pairs", "the head of --task pairs would read its last token"),
        ("xmod", "names", "reads every language by adapters of its own"),
    ],
)
def test_what_a_head_cannot_read_is_refused(tmp_path, kind, task, message):
    with pytest.raises(InputError, match=f"{kind}: {message}.*; expected an encoder alone"):
        load_model(write_other(kind, tmp_path), TASKS[task], CLASSES)


def test_a_head_that_has_other_names_for_the_weights(tmp_path):
    """That of Llama for answers does not find the model of a `LlamaForCausalLM`."""
    from transformers import AutoModel, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(9, 16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    LlamaForCausalLM(config).save_pretrained(tmp_path / "with-head")
    message = "with-head: is of the kind llama, and its files have no weights under the names of LlamaForQ"
    with pytest.raises(InputError, match=f"{message}.*; expected the encoder without a head"):
        load_model(tmp_path / "with-head", TASKS["answers"], CLASSES)
    AutoModel.from_pretrained(tmp_path / "with-head").save_pretrained(tmp_path / "alone")
    load_model(tmp_path / "alone", TASKS["answers"], CLASSES)


@pytest.mark.parametrize("kind", ["t5", "xlnet"])
def test_encoders_without_positions_of_their_own(folder, tmp_path, kind):
    """Of T5 the encoder alone is below a head of every token. Any number of tokens is read."""
    path = write(tmp_path / "en.tsv", ["Köln\tB-LOC", "ist\tO", "", "Anna\tB-PER"])
    names = {"task": "names", "train": [("en", path)], "valid": [("en", path)], "warmup": 0}
    learned = learner(job(folder, model=write_other(kind, tmp_path), max_length=3000, **names))
    assert learned.reader.longest == 3000
    learned.train(tmp_path / "out")
    assert not hasattr(learned.model.base_model, "decoder") and (tmp_path / "out/model").is_dir()


def test_an_encoder_that_lacks_weights_is_refused(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    path = write_bert(tmp_path / "bert")
    weights = load_file(path / "model.safetensors")
    name = next(name for name in weights if "layer.1" in name)
    save_file({key: value for key, value in weights.items() if key != name}, path / "model.safetensors",
              metadata={"format": "pt"})  # fmt: skip
    with pytest.raises(InputError, match=f"1 weights are missing .*the first is bert.{name}"):
        load_model(path, Pairs(), CLASSES)


def test_tokens_without_vectors_are_refused(folder, tmp_path):
    """Such as those that were added to the tokenizer alone."""
    path = shutil.copytree(folder / "bert", tmp_path / "bert")
    tokenizer = load_tokenizer(path)
    tokens = len(tokenizer)
    tokenizer.add_tokens(["haus"])
    tokenizer.save_pretrained(path)
    with pytest.raises(
        InputError, match=f"bert: its tokenizer has ids up to {tokens}, and the model {tokens} v"
    ):
        learner(job(folder, model=path))


def test_no_more_is_read_at_once_than_the_encoder_reads(folder, capsys):
    assert learner(job(folder, max_length=128)).reader.longest == 48
    assert "warning: --max-length 128: the encoder reads 48 tokens; so many" in capsys.readouterr().err


def test_more_warm_up_than_updates_is_refused(folder):
    with pytest.raises(InputError, match="--warmup 10: the training has 10 updates in all"):
        learner(job(folder, warmup=10))


def test_labels_that_training_has_not(folder):
    reader = Reader(load_tokenizer(folder / "bert"), 20, CLASSES)
    example = replace(learner(job(folder)).valid[0].examples[0], label="other")
    with pytest.raises(InputError, match=r"valid.tsv:\d+: label 'other', expected one of contradiction"):
        Pairs().windows(example, reader)
