"""Batch fields: what losses ask for, and alignment files that do not match the data."""

import numpy as np
import pytest

from command_line.errors import InputError
from data_prep.formats.alignments import AlignedSpansWriter, alignment_path
from fairseq_ext.data.language_tags import PLACEMENTS
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
from tests.fairseq_ext.folders import write_dictionaries, write_pair

PAIRS = "de-en,en-de"
DE = [[4, 5, 6, 2], [7, 8, 2], [9, 2]]
EN = [[10, 11, 2], [12, 13, 14, 2], [15, 2]]
SPANS = [[(0, 1, 1, 2), (1, 3, 0, 1)], [], [(0, 1, 0, 1)]]  # de is the first side


def write_alignments(folder, split="train", spans=SPANS, pair=("de", "en")) -> None:
    with AlignedSpansWriter(folder, split, pair, "fast_align") as writer:
        for rows in spans:
            writer.append(rows)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    write_dictionaries(folder, ["de", "en", "fr"])
    for split in ("train", "valid"):
        write_pair(folder, split, "de-en", DE, EN)
        write_pair(folder, split, "de-fr", DE, EN)
        write_alignments(folder, split)
    return folder


def make_task(folder, fields=("mirror", "word_alignments"), **options) -> MultilingualNmtTask:
    options = {"lang_pairs": PAIRS, "train_subset": "train", "seed": 1, **options}
    task = MultilingualNmtTask.setup_task(MultilingualNmtConfig(data=str(folder), **options))
    task.batch_fields = fields
    return task


def batch_of(task, split="train", direction="de-en") -> dict:
    """All sentences of a direction, in the order of the file."""
    task.load_dataset(split)
    dataset = task.dataset(split)
    number = ["-".join(part.direction) for part in dataset.parts].index(direction)
    return dataset.collater([dataset[index] for index in np.flatnonzero(dataset.part_numbers == number)])


def test_languages_are_numbers_among_those_with_a_tag(folder):
    """One model, any order of its languages: losses index tables of languages with them."""
    task = make_task(folder, ("source_languages", "target_languages"), langs="fr,en,de")
    assert batch_of(task, direction="de-en")["source_languages"].tolist() == [2, 2, 2]
    assert batch_of(task, direction="de-en")["target_languages"].tolist() == [1, 1, 1]
    assert batch_of(task, direction="en-de")["source_languages"].tolist() == [1, 1, 1]


def words(task, tensor) -> list[str]:
    return [task.dictionary.string(row, bpe_symbol=None) for row in tensor]


def spans_as_tokens(batch, name: str, tokens) -> list[list[int]]:
    aligned = batch["word_alignments"]
    rows = zip(aligned["sentence"].tolist(), aligned[name].tolist(), strict=True)
    return [tokens[sentence, start:end].tolist() for sentence, (start, end) in rows]


MIRRORS = {
    "s-enc-t-dec": ["__en__"],
    "t-enc": ["__de__"],
    "t-dec": [],
    "s-enc-t-enc": ["__en__", "__de__"],
    "none": [],
    "mbart": [],
    "embedded": [],
    "embedded-t-enc": [],
}
ENDINGS = {"mbart": ["__en__"], "embedded": ["__en__"], "embedded-t-enc": ["__en__", "__de__"]}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_mirror_is_the_source_of_the_opposite_direction(folder, placement):
    task = make_task(folder, language_tags=placement)
    batch = batch_of(task, direction="de-en")
    opposite = batch_of(make_task(folder, language_tags=placement), direction="en-de")
    assert batch["mirror"].keys() == {"src_tokens", "src_lengths"}
    for name, tensor in batch["mirror"].items():
        assert tensor.tolist() == opposite["net_input"][name].tolist()
    tags = [task.dictionary.index(tag) for tag in MIRRORS[placement]]
    ending = [task.dictionary.index(tag) for tag in ENDINGS.get(placement, [])]
    assert batch["mirror"]["src_tokens"][1].tolist() == [*tags, 12, 13, 14, 2, *ending]
    added = len(tags) + len(ending)
    assert batch["mirror"]["src_lengths"].tolist() == [added + len(sentence) for sentence in EN]
    dataset = task.dataset("train")  # what must fit the encoder
    lengths = [len(dataset[index]["mirror"]) for index in range(len(dataset))]
    assert dataset.field_sizes.tolist() == lengths


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_aligned_words_are_the_same_whatever_the_tags(folder, placement):
    batch = batch_of(make_task(folder, language_tags=placement))
    german, english = [[4], [5, 6], [9]], [[11], [10], [15]]
    assert batch["word_alignments"]["sentence"].tolist() == [0, 0, 2]
    assert spans_as_tokens(batch, "source", batch["net_input"]["src_tokens"]) == german
    assert spans_as_tokens(batch, "mirror", batch["mirror"]["src_tokens"]) == english
    assert spans_as_tokens(batch, "target", batch["target"]) == english
    other = batch_of(make_task(folder, language_tags=placement), direction="en-de")
    assert spans_as_tokens(other, "source", other["net_input"]["src_tokens"]) == english
    assert spans_as_tokens(other, "mirror", other["mirror"]["src_tokens"]) == german
    assert spans_as_tokens(other, "target", other["target"]) == german


@pytest.mark.parametrize(
    "fields", [(), ("mirror",), ("word_alignments",), ("mirror", "word_alignments")], ids=str
)
def test_the_task_builds_what_is_asked_for(folder, fields):
    if "word_alignments" not in fields:
        alignment_path(folder, "train", ("de", "en"), "fast_align").unlink()
    batch = batch_of(make_task(folder, fields))
    assert {"mirror", "word_alignments"} & batch.keys() == set(fields)


def test_two_aligners_need_one_corpus(folder):
    for split in ("train", "valid"):
        with AlignedSpansWriter(folder, split, ("de", "en"), "word2word") as writer:
            for rows in ([], [(0, 1, 0, 1)], []):
                writer.append(rows)
    with pytest.raises(InputError, match="alignments by fast_align, word2word; choose with --alignments"):
        batch_of(make_task(folder))
    found = {}
    for name in ("fast_align", "word2word"):
        batch = batch_of(make_task(folder, alignments=name))
        found[name] = spans_as_tokens(batch, "mirror", batch["mirror"]["src_tokens"])
    assert found == {"fast_align": [[11], [10], [15]], "word2word": [[12]]}


def test_a_batch_without_aligned_words(folder):
    task = make_task(folder)
    task.load_dataset("train")
    dataset = task.dataset("train")
    aligned = dataset.collater([dataset[1], dataset[1]])["word_alignments"]
    shapes = {name: tuple(tensor.shape) for name, tensor in aligned.items()}
    assert shapes == {"sentence": (0,), "source": (0, 2), "mirror": (0, 2), "target": (0, 2)}


def test_a_mirror_must_fit_the_encoder(folder):
    task = make_task(folder, language_tags="s-enc-t-enc")
    task.load_dataset("train")
    dataset = task.dataset("train")
    kept, ignored = dataset.filter_indices_by_size(np.arange(6), (6, 6))  # 2 tags: 4 tokens with </s>
    assert (kept.tolist(), ignored) == ([0, 1, 2, 3, 4, 5], [])
    kept, ignored = dataset.filter_indices_by_size(np.arange(6), (5, 5))
    assert sorted([*kept, *ignored]) == [0, 1, 2, 3, 4, 5]
    assert ignored == [0, 1, 3, 4]  # 1 and 3 are short as sources of their own direction


def test_zero_shot_directions_need_no_alignments(folder):
    task = make_task(folder, zero_shot_lang_pairs="de-fr", langs="de,en,fr")
    batch = batch_of(task, "valid", "de-fr")
    assert len(batch["word_alignments"]["sentence"]) == 0
    write_alignments(folder, "valid", pair=("de", "fr"))
    assert batch_of(task, "valid", "de-fr")["word_alignments"]["sentence"].tolist() == [0, 0, 2]


# --- files that do not match the data


def refused(folder) -> str:
    with pytest.raises(InputError) as caught:
        make_task(folder).load_dataset("train")
    return str(caught.value)


def test_missing_file(folder):
    path = alignment_path(folder, "train", ("de", "en"), "fast_align")
    path.unlink()
    assert refused(folder).startswith(f"{path}: no such file")


def test_another_number_of_lines(folder):
    write_alignments(folder, spans=SPANS[:2])
    path = alignment_path(folder, "train", ("de", "en"), "fast_align")
    assert refused(folder).startswith(f"{path}: 2 lines, but the data has 3")


@pytest.mark.parametrize(
    ("line", "row", "message"),
    [
        (2, (0, 3, 0, 1), "found the span 0:3 on side A in a sentence of 2 subwords"),  # </s> is no word
        (1, (0, 1, 2, 3), "found the span 2:3 on side B in a sentence of 2 subwords"),
    ],
)
def test_spans_beyond_the_sentence(folder, line, row, message):
    spans = [list(rows) for rows in SPANS]
    spans[line - 1].append(row)
    write_alignments(folder, spans=spans)
    path = alignment_path(folder, "train", ("de", "en"), "fast_align")
    assert refused(folder).startswith(f"{path}:{line}: {message}")


def test_the_file_of_other_lines(folder):
    write_alignments(folder, spans=SPANS[::-1])
    assert f"{alignment_path(folder, 'train', ('de', 'en'), 'fast_align')}:3: found the span" in refused(
        folder
    )


def test_pairs_that_are_not_in_order(folder):
    path = alignment_path(folder, "train", ("de", "en"), "fast_align")
    content = bytearray(path.read_bytes())
    content[32:40], content[40:48] = content[40:48], content[32:40]  # the two pairs of line 1
    path.write_bytes(bytes(content))
    assert refused(folder).startswith(f"{path}:1: found (0, 1, 1, 2) after (1, 3, 0, 1)")
