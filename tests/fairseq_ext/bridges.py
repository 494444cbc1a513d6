"""Small models with an interlingua, and tagged batches, for the tests of this folder."""

import torch

from data_prep.formats.directions import parse_directions
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.models.interlingua_transformer import InterlinguaTransformerModel
from tests.fairseq_ext import models

LANGUAGES = ("de", "en", "fr")
DIRECTIONS = "en-de,de-en,en-fr,fr-en"
KINDS = {
    "variable": {"interlingua": "variable"},
    "fixed-universal": {"interlingua": "fixed-universal", "interlingua_length": 5},
    "fixed-language-specific": {"interlingua": "fixed-language-specific", "interlingua_length": 5},
}
SIZES = {
    "encoder_layers": 2,
    "interlingua_layers": 3,
    "interlingua_max_length": 20,
    "max_source_positions": 20,
    "max_target_positions": 20,
}


class TaggedTask(models.ToyTask):
    """What a model with an interlingua is built from."""

    def __init__(self, placement: str = "s-enc-t-dec", directions: str = DIRECTIONS, words: int = 30):
        super().__init__(models.toy_dictionary(words))
        self.dictionary = self.source_dictionary
        self.tags = LanguageTags(self.dictionary, LANGUAGES, placement)
        self.supervised = parse_directions(directions, "--lang-pairs")


def build(kind: str = "variable", task: TaggedTask | None = None, **options) -> InterlinguaTransformerModel:
    task = task or TaggedTask()
    options = {**SIZES, **KINDS[kind], **options}
    seed = options.pop("seed", 1)
    torch.manual_seed(seed)
    arguments = models.Namespace(**{"dropout": 0.0, **models.SIZES, **options})
    return InterlinguaTransformerModel.build_model(arguments, task)


def model_and_criterion():
    """With both losses of an interlingua of variable length."""
    from tests.fairseq_ext.test_weighted_losses import make_criterion

    model = build()
    return model, make_criterion("interlingua_alignment,length_prediction", model=model)


PAIRS = (("de", 6, "en", 4), ("en", 3, "fr", 7), ("fr", 1, "en", 9), ("en", 9, "de", 8))


def batch(task: TaggedTask, pairs=PAIRS, seed: int = 3) -> dict:
    """A batch as the dataset makes it: (source language, words, target language, words) per pair."""
    dictionary, generator = task.dictionary, torch.Generator().manual_seed(seed)

    def padded(rows):
        width = max(map(len, rows))
        return torch.tensor([row + [dictionary.pad()] * (width - len(row)) for row in rows])

    sources, targets, mirrors = [], [], []
    for source, source_words, target, target_words in pairs:
        sides = [
            [*torch.randint(4, 30, (n,), generator=generator).tolist(), dictionary.eos()]
            for n in (source_words, target_words)
        ]
        sources.append(task.tags.encoder_ids(source, target) + sides[0])
        targets.append(task.tags.decoder_ids(target) + sides[1])
        mirrors.append(task.tags.encoder_ids(target, source) + sides[1])
    previous = padded([[dictionary.eos(), *row[:-1]] for row in targets])
    target, source, mirror = padded(targets), padded(sources), padded(mirrors)
    lengths = [rows.ne(dictionary.pad()).sum(1) for rows in (source, mirror)]
    return {
        "net_input": {"src_tokens": source, "src_lengths": lengths[0], "prev_output_tokens": previous},
        "mirror": {"src_tokens": mirror, "src_lengths": lengths[1]},
        "target": target,
        "ntokens": int(target.ne(dictionary.pad()).sum()),
        "nsentences": len(target),
    }
