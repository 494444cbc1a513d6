"""Translating many directions at once: one loaded model, batches of similar lengths, no line lost."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch

from command_line.progress import progress
from eval.beam_search import BeamSearch, SearchOptions
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset


class Truncated:
    """Token sequences cut to what the model can read; the last token stays `</s>`.

    Args:
        sentences: 1-D integer tensors that end with `</s>`.
        room: most tokens of a sentence, `</s>` included.
    """

    def __init__(self, sentences, sizes: np.ndarray, room: int):
        self.sentences, self.room = sentences, room
        self.too_long = int((np.asarray(sizes) > room).sum())
        self.sizes = np.minimum(sizes, room)

    def __getitem__(self, index: int):
        tokens = torch.as_tensor(self.sentences[index])
        return tokens if len(tokens) <= self.room else torch.cat([tokens[: self.room - 1], tokens[-1:]])


def sources_of(task, direction, sentences, sizes) -> DirectionData:
    """The source side of one direction, with tags, cut to the model's length."""
    tags = task.tags.encoder_ids(*direction)
    cut = Truncated(sentences, sizes, task.max_positions()[0] - len(tags))
    return DirectionData(direction, cut, None, cut.sizes, None, tags, task.tags.decoder_ids(direction[1]))


class Decoder:
    """Translates batches.

    Args:
        loaded: a `fairseq_ext.checkpoints.LoadedModel`.
        search: options of the beam search.
        max_tokens: source tokens of a batch, padding included. Batches hold sentences of similar length
            from all directions, so that few steps are spent on finished sentences.
        device: where to translate.
        keep_tags: hypotheses are as found, with language tags that the model produced by itself.
    """

    def __init__(
        self, loaded, search: SearchOptions, max_tokens: int, device: torch.device, keep_tags: bool = False
    ):
        self.task = loaded.task
        self.model = loaded.model.to(device)
        self.device = device
        self.max_tokens = max_tokens
        self.stripped = set() if keep_tags else self.task.tags.all_ids()
        self.search = BeamSearch(self.model, self.task.dictionary, search)

    def batches(self, parts: list[DirectionData]) -> tuple[MultilingualDataset, list]:
        """All sentences, and their batches; the longest come first, to run out of memory early if at all."""
        dictionary = self.task.dictionary
        sentences = MultilingualDataset(parts, dictionary.pad(), dictionary.eos(), shuffle=False)
        room = max(self.max_tokens, int(sentences.sizes.max()))  # a batch holds at least the longest sentence
        batches = sentences.batch_by_size(sentences.ordered_indices(), max_tokens=room)
        return sentences, batches[::-1]

    def translate(
        self, parts: list[DirectionData], done: Iterable[int] = (), task: str = "translate"
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield batches of (example numbers, best hypotheses as token ids without forced tags and `</s>`).

        Example numbers count through the parts. Batches that consist of `done` examples are skipped.
        """
        sentences, batches = self.batches(parts)
        done = set(done)
        batches = [batch for batch in batches if not done.issuperset(batch)]
        total = sum(map(len, batches))
        for batch in progress(batches, total, task, "sentence", size=len):
            sample = _to_device(sentences.collater([sentences[index] for index in batch]), self.device)
            with self.task.autocast(sample):
                tokens = self.search(
                    sample["net_input"]["src_tokens"],
                    sample["net_input"]["src_lengths"],
                    sample["prefix_tokens"],
                )
            yield sample["id"].tolist(), [self._strip(hypothesis) for hypothesis in tokens]

    def _strip(self, tokens: list[int]) -> list[int]:
        """Without language tags that the model produced by itself."""
        return [token for token in tokens if token not in self.stripped]


def _to_device(sample: dict, device: torch.device) -> dict:
    from fairseq import utils

    return utils.move_to_cuda(sample, device) if device.type == "cuda" else sample
