"""Encoders in checkpoints of fairseq: our sentence encoders, and the encoder of any translation model.

A sentence encoder pools by itself. Of a translation model, ours or stock fairseq's, the vector of a sentence
is the mean of the states that the decoder attends to (thesis 5.3.2), over all tokens that the encoder reads,
or over the words alone.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from command_line.errors import InputError
from command_line.outputs import checksum
from data_prep.formats.directions import format_direction
from data_prep.formats.preparation import FILE_NAME, Preparation
from data_prep.languages import closest
from data_prep.tokenizers import has_rules_of_languages, make_tokenizer, tokenizer_like
from embeddings.encoders.arithmetic import autocast, for_inference
from embeddings.encoders.options import CHECKPOINT, EncoderOptions
from embeddings.encoders.sentence_encoder import LanguageNeeded, TokenEncoder
from embeddings.encoders.sizes import size_of

OWN = "sentence_vectors"  # in the encoder's output of a model that pools by itself


class Segmentation:
    """Raw text as a model reads it: as `data_prep binarize` recorded how its training data was made.

    A folder of `fairseq-preprocess` has no record: its text must be segmented already.
    """

    def __init__(self, folder):
        self.folder = folder
        self.preparation = Preparation.load(folder) if (folder / FILE_NAME).exists() else None

    def of(self, language: str | None) -> Callable[[str], str]:
        """How a line of a language becomes subwords separated by spaces.

        Raises:
            LanguageNeeded: that depends on the language, and it is not given.
        """
        if self.preparation is None:
            return str
        return functools.partial(self.preparation.segment_by, self._tokenizer(language))

    @functools.cached_property
    def record(self) -> dict | None:
        """What vectors of raw text depend on; None where text is segmented already."""
        if self.preparation is None:
            return None
        kind, model = self.preparation.subword["type"], self.preparation.subword["model"]
        of_model = {"type": kind, "sha256": model and checksum(self.folder / model)}
        return {
            "tokenizers": self.preparation.tokenizers,
            "subword": of_model,
            "normalized": self.preparation.normalized,
        }

    def _tokenizer(self, language: str | None):
        """That of the training data; of another language, the one that `data_prep` would take."""
        tokenizers = self.preparation.tokenizers
        if language is None:
            first, *others = tokenizers
            if others and (len(set(tokenizers.values())) > 1 or has_rules_of_languages(tokenizers[first])):
                raise LanguageNeeded(
                    f"{self.folder / FILE_NAME}: languages are tokenized in different ways, so the language"
                    f" of the text must be known, one of {', '.join(tokenizers)}"
                )
            return make_tokenizer(tokenizers[first], first)
        name = language if language in tokenizers else closest(language, tokenizers)
        if name:
            return make_tokenizer(tokenizers[name], name)
        return make_tokenizer(tokenizer_like(tokenizers.values(), language), language)


class CheckpointEncoder(TokenEncoder):
    """The encoder of a checkpoint of ours or of fairseq's: a vector is pooled from its states, or is its own.

    Args:
        loaded: a `fairseq_ext.inference.LoadedModel`.
        options: pooling "mean" or "words"; None for a sentence encoder, which has its own.
    """

    def __init__(self, loaded, options: EncoderOptions):
        super().__init__(options.batch_tokens)
        from fairseq.modules import MultiheadAttention

        from fairseq_ext.axes.options import option

        self.options, self.task = options, loaded.task
        self._system = loaded.system()
        self.name = self._system["name"]
        self.dictionary, self.tags = self.task.dictionary, self.task.tags
        self.dictionary_fingerprint = self.task.fingerprint
        self.segmentation = Segmentation(options.model_data)
        self.longest = min(self.task.max_positions()[0], loaded.model.encoder.max_positions())
        self.device = options.device()
        self.size = size_of(
            loaded.model.encoder.named_parameters(),
            "encoder.",
            layers=len(loaded.model.encoder.layers) if hasattr(loaded.model.encoder, "layers") else None,
            state_width=loaded.model.encoder.embed_tokens.embedding_dim,
            ffn_width=option(loaded.state["cfg"]["model"], "encoder_ffn_embed_dim"),
            heads=option(loaded.state["cfg"]["model"], "encoder_attention_heads"),
        )
        self.encoder = for_inference(
            loaded.model.encoder,
            options.precision,
            self.device,
            getattr(loaded.model.encoder, "layers", None),
            whole=(MultiheadAttention,),
        )
        self.pooling, self.width = self._probe()

    @classmethod
    def load(cls, options: EncoderOptions) -> "CheckpointEncoder":
        """The encoder of the checkpoint `options.model`."""
        from fairseq_ext.inference import load_for_inference

        if options.model_data is None:
            raise InputError(
                f"--model {options.model}: a checkpoint needs --model-data, the binarized folder of its"
                " dictionary"
            )
        if options.pooling not in (None, "mean", "words"):
            raise InputError(f"--pooling {options.pooling}: found a checkpoint, expected mean or words")
        return cls(load_for_inference(options.model, options.model_data, translates=False), options)

    def _probe(self) -> tuple[str, int]:
        """The pooling and the width, from a sentence without words."""
        import torch

        tag, tags = self.tags.id_of(self.tags.languages[0]), self.tags
        around = [tag] * len(tags.placement.encoder), [tag] * len(tags.ending)
        with torch.inference_mode():
            output, _ = self.run([[*around[0], self.dictionary.eos(), *around[1]]])
        if OWN in output:
            if self.options.pooling:
                raise InputError(
                    f"--pooling {self.options.pooling}: {self.options.model} is a sentence encoder, which has"
                    " a pooling of its own"
                )
            return "own", output[OWN].shape[1]
        return self.options.pooling or "mean", output["encoder_out"][0].shape[2]

    @property
    def system(self) -> dict:
        return {**self._system, "name": self.name}

    def tokens(self, sentences: Sequence[str], language: str | None) -> list[list[int]]:
        """Tags, subwords, `</s>`; a line without words has no tokens."""
        segment, index = self.segmentation.of(language), self.dictionary.index
        return self._as_read([map(index, segment(line).split()) for line in sentences], language)

    def _as_read(self, sentences: Iterable[Iterable[int]], language: str | None) -> list[list[int]]:
        """Subwords as the model reads them."""
        before, behind = self._tags_around(language)
        room = self.longest - len(before) - len(behind) - 1
        end = [self.dictionary.eos()]
        cut = (list(islice(ids, room)) for ids in sentences)
        return [before + ids + end + behind if ids else [] for ids in cut]

    def encode_binarized(self, sentences: Sequence[Sequence[int]], language: str | None) -> np.ndarray:
        """As above; a sentence without words has the vector zero."""
        tokens = self._as_read((sentence[:-1] for sentence in sentences), language)
        return self._encode_once(tokens, list(range(len(tokens))))

    def _tags_around(self, language: str | None) -> tuple[list[int], list[int]]:
        """Tags in front of the sentence and behind its `</s>`."""
        in_front, behind = self.tags.placement.encoder, self.tags.ending
        sides = (*in_front, *behind)
        if "target" in sides and self.options.target_lang is None:
            raise InputError(
                f"{self.options.model}: its encoder is told the target language; give --target-lang, one of"
                f" {', '.join(self.tags.languages)}"
            )
        given = {"source": language, "target": self.options.target_lang}
        if "source" in sides and language is None:
            raise LanguageNeeded(
                f"{self.options.model}: its encoder is told the language of the text, one of"
                f" {', '.join(self.tags.languages)}"
            )
        return tuple(
            [self.tags.id_of(self._known(given[side])) for side in around] for around in (in_front, behind)
        )

    def _known(self, language: str) -> str:
        languages = self.tags.languages
        return language if language in languages else closest(language, languages) or language

    def run(self, batch: list[list[int]]):
        """The encoder's output for sentences, padded on the right, and what it read, B x T."""
        import torch

        from fairseq_ext.data.dataset_parts import pad_right

        read = pad_right([np.asarray(tokens) for tokens in batch], self.dictionary.pad()).to(self.device)
        lengths = torch.tensor(list(map(len, batch)), device=self.device)
        with autocast(self.options.precision, self.device):
            return self.encoder(read, src_lengths=lengths), read

    def vectors(self, output):
        import torch

        output, read = output
        if self.pooling == "own":
            return output[OWN]
        states = output["encoder_out"][0].transpose(0, 1).float()  # T x B x C -> B x T x C
        padding = output["encoder_padding_mask"]
        wanted = (
            ~padding[0] if padding else torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        )
        if self.pooling == "words":
            if states.shape[:2] != read.shape:
                raise InputError(
                    f"--pooling words: the states of {self.options.model} are not of its tokens; choose mean"
                )
            wanted = wanted & ~self._is_special(read)
        wanted = wanted.unsqueeze(2)  # B x T x 1
        # padded states may be anything, also NaN
        return states.masked_fill(~wanted, 0).sum(dim=1) / wanted.sum(dim=1)

    def states(self, output):
        import torch

        from fairseq_ext.losses.weighted_loss import read_by

        output, tokens = output
        none = torch.zeros_like(tokens, dtype=torch.bool)
        read = read_by({**output, "encoder_padding_mask": output["encoder_padding_mask"] or [none]}, tokens)
        states = read.states.transpose(0, 1).float()
        is_of_tokens = states.shape[:2] == read.tokens.shape
        special = self._is_special(read.tokens) if is_of_tokens else torch.zeros_like(read.padding)
        return states, read.padding, special

    def _is_special(self, tokens):
        """B x T: a tag, `<s>` or `</s>`."""
        import torch

        special = [self.dictionary.bos(), self.dictionary.eos(), *self.tags.all_ids()]
        return torch.isin(tokens, torch.tensor(special, device=self.device))

    @functools.cached_property
    def weights(self) -> dict[str, str]:
        """Checksums by file."""
        return {self.options.model.name: checksum(self.options.model)}

    def record(self) -> dict:
        return {
            "name": self.name,
            "kind": CHECKPOINT,
            "model": str(self.options.model),
            "width": self.width,
            "weights": self.weights,
            "pairs": list(map(format_direction, getattr(self.task, "pairs", []))),
            "system": self.system,
            "dictionary_sha256": self.task.fingerprint,
            "segmentation": self.segmentation.record,
            "pooling": self.pooling,
            "target_lang": self.options.target_lang,
            "precision": self.options.precision,
        }
