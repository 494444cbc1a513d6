"""Named entity recognition: files of WikiANN and XTREME, windows of whole words, and F1 as seqeval has it."""

import gzip
import re
from itertools import pairwise

import numpy as np
import pytest

from command_line.errors import InputError
from embeddings.finetuning.names import Names, TaggedSentence, spans
from embeddings.finetuning.task import IGNORED, Reader, read_files
from embeddings.parallel_validation import ParallelValidation
from tests.data_prep.tokenizer_folders import write_bert
from tests.embeddings.calibration.english import write_bert as write_encoder

TAGS = ("O", "B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER")
# Without a subword, one of them to BERT alone, and longer than a window.
ODD = ("", "spielen" * 50, "\x7f")
WORDS = ("Die", "Kinder", "spielen", "in", "Köln", *ODD, "今日", "สวัสดี", "العربية", "🙂", "new york", "x")


@pytest.fixture(scope="module", params=("WordPiece", "Unigram"))
def tokenizer(request, tmp_path_factory):
    """As mBERT's and LaBSE's, and as XLM-R's, in small."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "WordPiece":
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(write_bert(folder / "bert"))
    from embeddings.pretraining.vocabulary import learn_tokenizer
    from tests.embeddings.pretraining.monolingual import write_monolingual

    text = write_monolingual(folder / "text")
    return learn_tokenizer([text / "train.de", text / "train.en"], 80, 200, 1, 1, 512, folder)


def write(path, text: str):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="") as stream:
        stream.write(text)
    return path


# --- files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test-de.tsv", "Anna\tB-PER\naus\tO\nBad Köln\tB-LOC\n\n:\tO\n"),
        ("test-de.tsv.gz", "\ufeffAnna\tB-PER\r\naus\tO\r\nBad Köln\tB-LOC\r\n\r\n\r\n:\tO\r\n\r\n"),
        ("de", "de:Anna\tB-PER\nde: aus\tO\nde:Bad Köln\tB-LOC\n\nde::\tO"),
    ],
)
def test_layouts(tmp_path, name, text):
    assert Names().read(write(tmp_path / name, text), "de") == [
        TaggedSentence(("Anna", "aus", "Bad Köln"), ("B-PER", "O", "B-LOC")),
        TaggedSentence((":",), ("O",)),
    ]


def test_spaces_documents_and_words_that_only_look_as_if_they_had_a_prefix(tmp_path):
    path = write(tmp_path / "eng.train", "-DOCSTART- -X- O O\n\nen:Anna B-PER\nat:home  O\n \nno O\n")
    assert Names().read(path, "en") == [
        TaggedSentence(("en:Anna", "at:home"), ("B-PER", "O")),
        TaggedSentence(("no",), ("O",)),
    ]


def test_words_of_spaces_alone_are_words(tmp_path):
    """XTREME's own reader takes such a line for the end of a sentence."""
    (read,) = Names().read(write(tmp_path / "test-ja.tsv", "東京\tB-LOC\n\u3000\tI-LOC\n都\tI-LOC\n"), "ja")
    assert read == TaggedSentence(("東京", "", "都"), ("B-LOC", "I-LOC", "I-LOC"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "bad.tsv: has no word, expected on every line a word, a tab and its tag"),
        ("\n\n", "bad.tsv: has no word, expected on every line a word, a tab and its tag"),
        ("Anna\tB-PER\nKöln\n", "bad.tsv:2: found 'Köln', expected a word, a tab and its tag: O, B-TYPE"),
        ("Anna\tPER\n", "bad.tsv:1: found 'Anna\\tPER', expected a word, a tab and its tag"),
        ("\n\nAnna\tE-PER\n", "bad.tsv:3: found 'Anna\\tE-PER', expected"),
        ("Anna\tB-\n", "bad.tsv:1: found 'Anna\\tB-', expected"),
        ("Anna\tNNP\tB-PER\n", "bad.tsv:1: found 'Anna\\tNNP\\tB-PER', expected"),
        ("Anna NNP I-NP B-PER\n", "bad.tsv:1: found 'Anna NNP I-NP B-PER', expected"),
    ],
)
def test_bad_files(tmp_path, text, error):
    with pytest.raises(InputError) as caught:
        Names().read(write(tmp_path / "bad.tsv", text), "de")
    assert error in str(caught.value) and "\n" not in str(caught.value)


def test_the_tags_of_training_are_the_classes():
    sentences = [TaggedSentence(("a", "b"), ("B-PER", "I-PER")), TaggedSentence(("c",), ("B-LOC",))]
    assert Names().classes(sentences) == ("O", "B-LOC", "B-PER", "I-PER")
    with pytest.raises(InputError, match="all words of the training sentences are tagged O"):
        Names().classes([TaggedSentence(("a",), ("O",))])


# --- windows


def test_every_word_is_in_one_window_and_its_first_subword_has_its_label(tokenizer):
    """What a window has between its special tokens is what the tokenizer makes of words that are split."""
    words = WORDS * 5
    tags = tuple(np.random.default_rng(1).choice(TAGS, len(words)))
    reader = Reader(tokenizer, 16, TAGS)
    windows = Names().windows(TaggedSentence(words, tags), reader)
    assert len(windows) > 5 and Names().count(TaggedSentence(words, tags), reader) == len(windows)
    frame = tokenizer.build_inputs_with_special_tokens([])
    labels, pieces = [], []
    for window in windows:
        length = len(window["input_ids"])
        assert length <= 16 and {len(window[name]) for name in window if name != "_first"} == {length}
        inside = window["input_ids"][1:-1]
        assert [window["input_ids"][0], window["input_ids"][-1]] == frame
        assert [window["labels"][place] for place in (0, -1)] == [IGNORED] * 2
        assert ("token_type_ids" in window) == ("token_type_ids" in tokenizer("a"))
        starts = [place for place, label in enumerate(window["labels"]) if label != IGNORED]
        assert starts == window["_first"]
        labels += [TAGS[window["labels"][place]] for place in starts]
        ends = [*(start - 1 for start in starts[1:]), len(inside)]
        pieces += [inside[start - 1 : end] for start, end in zip(starts, ends, strict=True)]
    assert tuple(labels) == tags
    for word, ids in zip(words, pieces, strict=True):
        alone = tokenizer([word], is_split_into_words=True, add_special_tokens=False)["input_ids"]
        assert ids == (alone if 0 < len(alone) <= 14 else [tokenizer.unk_token_id]), word
    assert pieces[5] == pieces[6] == [tokenizer.unk_token_id]


def test_windows_are_as_full_as_whole_words_allow(tokenizer):
    reader = Reader(tokenizer, 16, TAGS)
    windows = Names().windows(TaggedSentence(WORDS * 3, ("O",) * 3 * len(WORDS)), reader)
    for window, after in pairwise(windows):
        following = [*after["_first"], len(after["input_ids"]) - 1]
        assert len(window["input_ids"]) + following[1] - following[0] > 16


def test_a_sentence_that_fits_is_one_window(tokenizer):
    window = Names().windows(TaggedSentence(("Das", "Wetter"), ("O", "O")), Reader(tokenizer, 128, TAGS))
    assert len(window) == 1
    assert window[0]["input_ids"] == tokenizer("Das Wetter")["input_ids"]


def test_a_tag_that_training_lacks_has_no_label(tokenizer):
    example = TaggedSentence(("Das", "Wetter"), ("B-PER", "O"))
    (window,) = Names().windows(example, Reader(tokenizer, 128, ("O", "B-LOC")))
    assert len(window["_first"]) == 2
    assert [label for label in window["labels"] if label != IGNORED] == [0]


def test_a_vocabulary_of_bytes(tmp_path):
    """Words begin as within a text, and those without subwords or with too many have some, too."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>"], initial_alphabet=alphabet)
    made.train_from_iterator(["das Wetter, das Wetter"] * 9, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made)
    sentence = TaggedSentence(("das", "Wetter", "", "x" * 20), ("O", "B-LOC", "O", "O"))
    (window,) = Names().windows(sentence, Reader(tokenizer, 12, TAGS))
    assert tokenizer.convert_ids_to_tokens(window["input_ids"]) == ["Ġdas", "ĠWetter", "?", "?"]


def test_windows_without_room_are_refused(tokenizer):
    with pytest.raises(InputError, match="--max-length 2: 2 special tokens leave no room for words"):
        Names().count(TaggedSentence(("Das",), ("O",)), Reader(tokenizer, 2, TAGS))


# --- the measure


def entities(tags) -> set:
    """A plain reading of seqeval's rules, character by character: one letter per word."""
    kinds = sorted({tag[2:] for tag in tags if tag != "O"})
    spans = set()
    for kind in kinds:
        letters = "".join("O" if tag[2:] != kind else tag[0] for tag in tags)
        spans |= {(kind, match.start(), match.end()) for match in re.finditer("[BI]I*", letters)}
    return spans


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O B-PER I-PER O", {("PER", 1, 3)}),
        ("I-PER I-PER O I-LOC", {("PER", 0, 2), ("LOC", 3, 4)}),
        ("B-PER B-PER I-PER", {("PER", 0, 1), ("PER", 1, 3)}),
        ("B-PER I-LOC I-LOC B-LOC", {("PER", 0, 1), ("LOC", 1, 3), ("LOC", 3, 4)}),
        ("B-A-B I-A-B O O", {("A-B", 0, 2)}),
        ("O O", set()),
    ],
)
def test_names_that_tags_say(tags, expected):
    assert spans(tags.split()) == expected == entities(tags.split())


def test_names_of_any_tags():
    draw = np.random.default_rng(2)
    for _ in range(300):
        tags = list(draw.choice(TAGS, draw.integers(1, 12)))
        assert spans(tags) == entities(tags), tags


def saying(sentences, reader):
    """A model that says these tags, which are in the windows' own order; at other subwords, anything."""
    said = iter([tag for sentence in sentences for tag in sentence])

    def predict(windows):
        for window in windows:
            logits = np.random.default_rng(3).normal(size=(len(window["input_ids"]), len(reader.classes)))
            for place in window["_first"]:
                logits[place, reader.number_of(next(said))] = 99
            yield {"logits": logits}

    return predict


def test_f1_is_of_whole_sentences(tokenizer):
    """Of random tags, also across the windows of a sentence."""
    draw = np.random.default_rng(4)
    reader = Reader(tokenizer, 12, TAGS)
    gold = [TaggedSentence(WORDS * 2, tuple(draw.choice(TAGS, 2 * len(WORDS)))) for _ in range(20)]
    said = [[tag if draw.random() < 0.8 else draw.choice(TAGS) for tag in sentence.tags] for sentence in gold]
    assert all(Names().count(sentence, reader) > 2 for sentence in gold)
    right, predicted, expected = 0, 0, 0
    for sentence, tags in zip(gold, said, strict=True):
        right += len(entities(tags) & entities(sentence.tags))
        predicted, expected = predicted + len(entities(tags)), expected + len(entities(sentence.tags))
    precision, recall = right / predicted, right / expected
    f1 = Names().measure(gold, "de", reader, saying(said, reader)).values
    assert f1 == {"f1": pytest.approx(100 * 2 * precision * recall / (precision + recall))}
    assert 20 < f1["f1"] < 90
    perfect = Names().measure(gold, "de", reader, saying([sentence.tags for sentence in gold], reader)).values
    assert perfect == {"f1": 100}


def test_f1_where_nothing_is_right(tokenizer):
    reader = Reader(tokenizer, 12, TAGS)
    gold = [TaggedSentence(("Das", "Wetter"), ("B-LOC", "O"))]
    assert Names().measure(gold, "de", reader, saying([("O", "O")], reader)).values == {"f1": 0}
    nothing = [TaggedSentence(("Das", "Wetter"), ("O", "O"))]
    assert Names().measure(nothing, "de", reader, saying([("O", "O")], reader)).values == {"f1": 0}


def test_a_name_of_a_type_that_training_lacks_is_missed(tokenizer):
    gold = [TaggedSentence(("Das", "Wetter"), ("B-PER", "B-LOC"))]
    reader = Reader(tokenizer, 12, ("O", "B-LOC"))
    f1 = Names().measure(gold, "de", reader, saying([("O", "B-LOC")], reader)).values
    assert f1 == {"f1": pytest.approx(100 * 2 / 3)}


# --- a training


def test_an_encoder_learns_names_in_one_language_and_finds_them_in_another(tmp_path):
    """Numbers are names; the languages differ in a rare word; long sentences are cut to a small encoder's
    windows."""
    from embeddings.finetuning.options import Training
    from embeddings.finetuning.training import Learner, tested

    draw = np.random.default_rng(5)
    for language, words in (("en", ("the", "park")), ("de", 9 * ("the", "park") + ("heute",))):
        rows = []
        for _ in range(48):
            for _ in range(draw.integers(4, 12)):
                name = draw.random() < 0.3
                rows += [("1234", "B-LOC"), ("5678", "I-LOC")] if name else [(draw.choice(words), "O")]
            rows.append(())
        write(tmp_path / f"{language}.tsv", "".join("\t".join(row) + "\n" for row in rows))
    files = {language: [(language, tmp_path / f"{language}.tsv")] for language in ("en", "de")}
    job = Training(
        model=write_encoder(tmp_path / "bert"), pooler=None, task="names", train=files["en"],
        valid=files["en"], validation=ParallelValidation(None, None), layer=None, code_switching=None,
        epochs=10, batch_size=8, learning_rate=2e-3, warmup=0, max_length=16, checkpoints=2, seed=1,
        precision="float32", cpu=True,
    )  # fmt: skip
    train, test = (read_files(job.what, given) for given in (job.train, files["en"] + files["de"]))
    Learner(job, train, train).train(tmp_path / "out")
    scores = tested(job, tmp_path / "out/model", test)
    f1 = {language: of_language.values["f1"] for language, of_language in scores.items()}
    assert f1["en"] > 90 and f1["de"] > 80, f1
