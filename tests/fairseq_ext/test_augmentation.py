"""Training sentences that are segmented anew in every epoch: reproducible, and only they."""

import io
from argparse import Namespace

import pytest
import torch
from fairseq.data import Dictionary
from subword_nmt.learn_bpe import learn_bpe

from command_line.errors import InputError
from command_line.outputs import checksum
from data_prep.formats.preparation import Preparation
from data_prep.subword_models import BytePairs
from fairseq_ext.axes.record import describe
from fairseq_ext.data.word_substitution import WordSubstitution
from tests.fairseq_ext.folders import write_pair
from tests.fairseq_ext.test_multilingual_nmt import make_task, refused

GERMAN = ["die unteren häuser", "das neueste haus", "weite länder und weite häuser", "niedere länder"] * 5
ENGLISH = ["the lower houses", "the newest house", "wide lands and wide houses", "lower lands"] * 5


def write_folder(folder, kind: str = "subword-nmt"):
    """A binarized folder of byte pairs, with all characters in the dictionary."""
    folder.mkdir(parents=True)
    with open(folder / "subword.codes", "w", encoding="utf-8") as stream:
        learn_bpe(io.StringIO("\n".join(GERMAN + ENGLISH)), stream, 60)
    segment = BytePairs(folder / "subword.codes").segment
    dictionary = Dictionary()
    for line in GERMAN + ENGLISH:
        for unit in [*segment(line).split(), *(f"{c}@@" for c in line), *line]:
            if unit.strip("@ "):
                dictionary.add_symbol(unit)
    for language in ("de", "en"):
        dictionary.save(str(folder / f"dict.{language}.txt"))
    sides = [
        [[*map(dictionary.index, segment(line).split()), dictionary.eos()] for line in side]
        for side in (GERMAN, ENGLISH)
    ]
    for split in ("train", "valid"):
        write_pair(folder, split, "de-en", *sides)
    Preparation(
        folder=folder, languages=["de", "en"], tokenizers={"de": "none", "en": "none"},
        subword={"type": kind, "model": "subword.codes" if kind == "subword-nmt" else None},
        pairs={"train": {"de-en": 20}, "valid": {"de-en": 20}},
        dictionary_sha256=checksum(folder / "dict.de.txt"),
    ).save()  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("bpe") / "data")


def task_of(folder, fields=(), **options):
    task = make_task(folder, lang_pairs="de-en,en-de", **options)
    task.batch_fields = fields
    return task


def batches(task, epoch: int = 1, split: str = "train", workers: int = 0, skip: int = 0) -> list[dict]:
    """The batches of an epoch as fairseq's trainer gets them; `skip` were seen before a resumed run began."""
    task.load_dataset(split, epoch=epoch)
    iterator = task.get_batch_iterator(
        task.dataset(split), max_tokens=90, seed=1, epoch=epoch, num_workers=workers
    )
    if skip:
        iterator.load_state_dict({"epoch": epoch, "iterations_in_epoch": skip, "shuffle": True})
    return list(iterator.next_epoch_itr(shuffle=True))


def text_of(task, tokens: torch.Tensor) -> list[str]:
    ignored = {*task.tags.all_ids(), task.dictionary.pad()}
    return [task.dictionary.string(row, bpe_symbol="@@ ", extra_symbols_to_ignore=ignored) for row in tokens]


def same(found: list[dict], expected: list[dict]) -> bool:
    keys = ("src_tokens", "prev_output_tokens")
    return len(found) == len(expected) and all(
        torch.equal(one["target"], other["target"])
        and all(torch.equal(one["net_input"][key], other["net_input"][key]) for key in keys)
        for one, other in zip(found, expected, strict=True)
    )


def test_the_text_of_every_sentence_stays_and_its_units_change_with_the_epoch(folder):
    seen = []
    for epoch in (1, 2):
        task, plain = task_of(folder, subword_dropout=0.4), task_of(folder)
        found, expected = batches(task, epoch), batches(plain, epoch)
        assert not same(found, expected)
        for one, other in zip(found, expected, strict=True):
            sources = (each["net_input"]["src_tokens"] for each in (one, other))
            assert text_of(task, next(sources)) == text_of(task, next(sources))
            assert text_of(task, one["target"]) == text_of(task, other["target"])
            assert task.dictionary.unk() not in one["target"]
        seen.append({
            tuple(row.tolist()) for batch in found for row in batch["net_input"]["src_tokens"]
        })  # fmt: skip
    assert seen[0] != seen[1]


def test_dropout_0_is_none_byte_for_byte(folder):
    assert same(batches(task_of(folder, subword_dropout=0.0)), batches(task_of(folder)))


def test_batches_depend_on_seed_and_epoch_alone(folder):
    """Neither on what was read before, nor on workers, nor on where a training goes on."""
    expected = batches(task_of(folder, subword_dropout=0.3), epoch=3)
    task = task_of(folder, subword_dropout=0.3)
    batches(task, epoch=2)
    assert same(batches(task, epoch=3), expected)
    assert same(batches(task_of(folder, subword_dropout=0.3), epoch=3, workers=2), expected)
    assert len(expected) > 2
    assert same(batches(task_of(folder, subword_dropout=0.3), epoch=3, skip=2), expected[2:])
    assert not same(batches(task_of(folder, subword_dropout=0.3, seed=2), epoch=3), expected)


@pytest.mark.parametrize(
    ("sides", "changed"), [("both", (True, True)), ("source", (True, False)), ("target", (False, True))]
)
def test_sides(folder, sides, changed):
    task, plain = task_of(folder, subword_dropout=0.5, subword_sides=sides), task_of(folder)
    for one in (task, plain):
        one.load_dataset("train")
    for side, is_changed in zip(("source", "target"), changed, strict=True):
        found, expected = (
            [each.dataset("train")[index][side].tolist() for index in range(40)] for each in (task, plain)
        )
        assert (found != expected) == is_changed


def test_validation_and_test_sets_are_never_segmented_anew(folder):
    assert same(
        batches(task_of(folder, subword_dropout=0.9), split="valid"), batches(task_of(folder), split="valid")
    )


def test_the_mirror_is_the_target(folder):
    task = task_of(folder, fields=("mirror",), subword_dropout=0.5)
    for batch in batches(task):
        for mirror, target in zip(batch["mirror"]["src_tokens"], batch["target"], strict=True):
            words = [
                [i for i in row.tolist() if i > 3 and i not in task.tags.all_ids()]
                for row in (mirror, target)
            ]
            assert words[0] == words[1]


def test_a_sentence_is_one_and_the_same_in_both_directions(folder):
    """Which read it in one file."""
    task = task_of(folder, subword_dropout=0.4)
    task.load_dataset("train")
    there, back = task.dataset("train").parts
    assert there.direction == back.direction[::-1]
    for line in range(len(there)):
        assert torch.equal(there.sources[line], back.targets[line])
        assert torch.equal(there.targets[line], back.sources[line])


def test_a_draw_that_would_be_too_long_is_not_taken(folder):
    def lengths(**options) -> list[int]:
        task = task_of(folder, **options)
        task.load_dataset("train")
        return [len(task.dataset("train")[index]["source"]) for index in range(40)]

    limit = {"max_source_positions": 16, "max_target_positions": 16}
    found, free, binarized = lengths(subword_dropout=0.9, **limit), lengths(subword_dropout=0.9), lengths()
    assert max(free) > 16 > max(binarized)
    assert max(found) <= 16
    assert [one if one <= 13 else usual for one, usual in zip(free, binarized, strict=True)] == found


def test_the_record_and_the_name_say_so(folder):
    cfg = {"model": Namespace(arch="mnmt_transformer"), "common": {"seed": 1}, "criterion": {}}
    names = [
        describe({**cfg, "task": {"subword_dropout": dropout}}, "t-enc")["name"] for dropout in (0.0, 0.1)
    ]
    assert names[1] == f"{names[0]} (subword dropout 0.1)"


# --- words replaced by translations

DICTIONARY = {"de-en.txt": "häuser houses\nhaus house\nund and\nländer lands\n", "en-de.txt": "house haus\n"}


@pytest.fixture(scope="module")
def dictionaries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lexicon")
    for name, lines in DICTIONARY.items():
        (folder / name).write_text(lines, encoding="utf-8")
    return folder


def substituted(folder, dictionaries, epoch: int = 1, **options) -> list[tuple[str, str]]:
    """Source and target texts of the training set, in the order of its lines."""
    given = {"word_substitution": 1.0, "word_dictionaries": str(dictionaries), **options}
    task = task_of(folder, **given)
    task.load_dataset("train", epoch=epoch)
    dataset = task.dataset("train")
    dataset.set_epoch(epoch)
    return [
        tuple(text_of(task, torch.tensor(dataset[i][side])[None])[0] for side in ("source", "target"))
        for i in range(40)
    ]


def replaced(line: str, language: str) -> str:
    """Every word by its translation, in a plain loop."""
    other = {"de": "de-en.txt", "en": "en-de.txt"}[language]
    translations = dict(entry.split() for entry in DICTIONARY[other].splitlines())
    return " ".join(translations.get(word, word) for word in line.split())


@pytest.mark.parametrize("sides", ["source", "target", "both"])
def test_every_word_that_has_a_translation_is_replaced_as_a_whole(folder, dictionaries, sides):
    expected = [
        (
            replaced(source, languages[0]) if sides != "target" else source,
            replaced(target, languages[1]) if sides != "source" else target,
        )
        for languages, sides_of in ((("de", "en"), (GERMAN, ENGLISH)), (("en", "de"), (ENGLISH, GERMAN)))
        for source, target in zip(*sides_of, strict=True)
    ]
    assert expected[0][0] == "die unteren houses" or sides == "target"
    assert substituted(folder, dictionaries, substitution_sides=sides) == expected


def test_what_is_put_in_are_the_units_that_the_model_makes_of_it(folder, dictionaries):
    task = task_of(folder, word_substitution=1.0, word_dictionaries=str(dictionaries))
    task.load_dataset("train")
    segment = BytePairs(folder / "subword.codes").segment
    units = [task.dictionary[i] for i in task.dataset("train")[0]["source"][1:-1]]
    assert units == segment("die unteren houses").split()


def test_words_are_replaced_with_the_probability_and_anew_in_every_epoch(folder, dictionaries):
    task = task_of(folder, word_substitution=0.3, word_dictionaries=str(dictionaries))
    task.load_dataset("train")
    epochs = []
    for epoch in range(1, 21):
        task.dataset("train").set_epoch(epoch)
        tokens = [torch.tensor(task.dataset("train")[i]["source"])[None] for i in range(20)]
        epochs.append(tuple(text_of(task, each)[0] for each in tokens))
    words = [word for epoch in epochs for line in epoch for word in line.split()]
    changed = sum(map(words.count, ("houses", "house", "and", "lands")))
    could = [word for line in GERMAN for word in line.split() if word in ("häuser", "haus", "und", "länder")]
    assert changed / (20 * len(could)) == pytest.approx(0.3, abs=0.04)
    assert len(set(epochs)) == 20
    again = substituted(folder, dictionaries, epoch=7, word_substitution=0.3)
    assert tuple(line for line, _ in again[:20]) == epochs[6]


def test_probability_0_is_none_and_validation_stays(folder, dictionaries):
    assert same(batches(task_of(folder, word_substitution=0.0)), batches(task_of(folder)))
    given = {"word_substitution": 1.0, "word_dictionaries": str(dictionaries)}
    assert same(batches(task_of(folder, **given), split="valid"), batches(task_of(folder), split="valid"))
    expected = batches(task_of(folder, **given), epoch=2)
    assert same(batches(task_of(folder, **given), epoch=2, skip=1), expected[1:])


def test_replaced_words_are_segmented_anew_as_all_others(folder, dictionaries):
    plain = substituted(folder, dictionaries)
    assert substituted(folder, dictionaries, subword_dropout=0.5) == plain


def test_several_translations_are_as_likely_and_unknown_units_are_left_out():
    class Words:
        def segment(self, text):
            return " ".join(f"▁{word}" for word in text.split())

    translations = {"a": ["x", "y", "zzz"], "b": ["zzz"]}
    substitution = WordSubstitution(1.0, translations, Words(), "sentencepiece", {"▁x", "▁y"})
    drawn = [substitution.draw(["▁", "a", "▁b", "▁C"], seed) for seed in range(400)]
    assert {tuple(each[1:]) for each in drawn} == {("▁b", "▁C")}
    assert sum(each[0] == "▁x" for each in drawn) / 400 == pytest.approx(0.5, abs=0.08)
    assert WordSubstitution(1.0, {"c": ["x"]}, Words(), "sentencepiece", {"▁x"}).draw(["▁C"], 1) == ["▁x"]
    both = WordSubstitution(1.0, {"C": ["y"], "c": ["x"]}, Words(), "sentencepiece", {"▁x", "▁y"})
    assert both.draw(["▁C", "▁c"], 1) == ["▁y", "▁x"]  # as it stands, if it is there so
    with pytest.raises(InputError, match=r"^--word-substitution: subwords of type transformers spell"):
        WordSubstitution(1.0, {}, Words(), "transformers", set())


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"word_substitution": 1.5, "word_dictionaries": "x"},
            "--word-substitution 1.5: expected a n",
        ),
        ({"word_substitution": 0.3}, "--word-substitution and --word-dictionaries go together"),
        ({"word_dictionaries": "x"}, "--word-substitution and --word-dictionaries go together"),
        (
            {"word_substitution": 0.3, "word_dictionaries": "/no"},
            "/no: no dictionary of de, en; expect",
        ),
        ({"subword_dropout": 1.0}, "--subword-dropout 1.0: expected a number from 0 to below 1"),
        ({"subword_dropout": -0.1}, "--subword-dropout -0.1: expected a number from 0 to below 1"),
        ({"subword_alpha": -1.0}, "--subword-alpha -1.0: expected a number, 0 or above"),
        (
            {"subword_alpha": 0.1, "subword_dropout": 0.1},
            "--subword-alpha: a unigram model has no",
        ),
        ({"subword_alpha": 0.1, "subword_nbest": 1}, "--subword-nbest 1: expected -1 or a number above 1"),
        ({"subword_nbest": 64}, "--subword-nbest 64: goes with --subword-alpha"),
        ({"subword_alpha": 0.1}, "--subword-alpha: subwords of "),
        (
            {"subword_dropout": 0.1, "fields": ("word_alignments",)},
            "--subword-dropout, --subword-alpha, --word",
        ),
    ],
)
def test_nonsense_is_one_line(folder, options, message):
    assert refused(task_of(folder, **options).load_dataset, "train").startswith(message)


def test_a_folder_without_subwords_or_record(tmp_path, folder):
    words = write_folder(tmp_path / "words", kind="none")
    message = refused(task_of(words, subword_dropout=0.1).load_dataset, "train")
    assert message == f"--subword-dropout: subwords of {words} are of type none, expected BPE"
    (words / "preparation.json").unlink()
    with pytest.raises(InputError, match=r"preparation\.json: no such file"):
        task_of(words, subword_dropout=0.1).load_dataset("train")
