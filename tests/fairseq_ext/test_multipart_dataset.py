"""`MultipartDataset` and `DatasetPart` without sentence pairs: monolingual text, and fields of any name."""

from dataclasses import dataclass

import numpy as np
import torch

from fairseq_ext.data.dataset_parts import BatchField, DatasetPart, pad_right
from fairseq_ext.data.multipart_dataset import MultipartDataset

PAD, EOS = 1, 2


@dataclass
class Text(DatasetPart):
    """Sentences of one language: nothing to decode, no tags."""

    sentences: list

    def __len__(self):
        return len(self.sentences)

    def encoder_sizes(self):
        return np.array([len(sentence) for sentence in self.sentences])


class TextDataset(MultipartDataset):
    def example(self, part, item, index):
        return {"source": np.array(part.sentences[item])}


class Paraphrases(BatchField):
    """Something else for the encoder."""

    def __init__(self, sentences):
        self.sentences = sentences
        self.source_sizes = np.array([len(sentence) for sentence in sentences])

    def __getitem__(self, item):
        return np.array(self.sentences[item])

    @staticmethod
    def collate(shares, pad):
        return pad_right(shares, pad)


class Numbers(BatchField):
    """Nothing for the encoder."""

    def __getitem__(self, item):
        return 10 * item

    @staticmethod
    def collate(shares, pad):
        return torch.tensor(shares)


def sentences(*lengths: int) -> list[list[int]]:
    return [[*range(4, 3 + length), EOS] for length in lengths]


def dataset_of(*parts, **options) -> TextDataset:
    return TextDataset(parts, PAD, EOS, **options)


def test_monolingual_text_needs_no_target():
    dataset = dataset_of(Text(sentences(3, 2)), Text(sentences(5)), shuffle=False)
    assert dataset.target_sizes is None
    assert dataset.sizes.tolist() == [3, 2, 5]
    assert dataset.ordered_indices().tolist() == [1, 0, 2]
    batch = dataset.collater([dataset[index] for index in range(3)])
    assert batch["net_input"].keys() == {"src_tokens", "src_lengths"}
    assert batch["net_input"]["src_tokens"].tolist() == [[4, 5, 2, 1, 1], [4, 2, 1, 1, 1], [4, 5, 6, 7, 2]]
    assert "target" not in batch
    assert (batch["ntokens"], batch["nsentences"]) == (10, 3)
    assert (batch["parts"].tolist(), batch["lines"].tolist()) == ([0, 0, 1], [0, 1, 0])


def test_what_a_field_gives_the_encoder_must_fit_whatever_its_name():
    fields = ({"paraphrase": Paraphrases(sentences(4, 9)), "number": Numbers()} for _ in range(2))
    dataset = dataset_of(*(Text(sentences(3, 2), fields=each) for each in fields), shuffle=False)
    assert dataset.field_sizes.tolist() == [4, 9, 4, 9]
    kept, ignored = dataset.filter_indices_by_size(np.arange(4), (8, None))
    assert (kept.tolist(), ignored) == ([0, 2], [1, 3])
    assert dataset.sizes.max() == 3  # batches are made by the sources, as always
    batch = dataset.collater([dataset[0], dataset[3]])
    assert batch["paraphrase"].shape == (2, 9)
    assert batch["number"].tolist() == [0, 10]


def test_fields_that_give_the_encoder_nothing_limit_nothing():
    dataset = dataset_of(Text(sentences(3, 2), fields={"number": Numbers()}))
    assert dataset.field_sizes is None
    assert len(dataset.filter_indices_by_size(np.arange(2), (3, 3))[0]) == 2


def test_sizes_of_fields_follow_the_sampled_sentences():
    lengths = list(range(2, 30))
    field = Paraphrases(sentences(*lengths[::-1]))
    other = {"paraphrase": Paraphrases(sentences(3))}
    dataset = dataset_of(
        Text(sentences(*lengths), fields={"paraphrase": field}), Text(sentences(4), fields=other),
        temperature=5.0,
    )  # fmt: skip
    dataset.set_epoch(3)
    assert any(dataset.part_numbers == 1)
    for index in range(len(dataset)):
        assert dataset.field_sizes[index] == len(dataset[index]["paraphrase"])
        assert dataset.source_sizes[index] == len(dataset[index]["source"])
