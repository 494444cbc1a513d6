"""The sums over tokens of every layer of an encoder, stored beside binarized sentences for training what is
above the frozen encoder (`data_prep.formats.layer_sums`).
"""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.outputs import checksum
from data_prep.formats.layer_sums import layer_sums_path
from data_prep.formats.sentences import data_path, load_sentences, text_prefixes
from data_prep.formats.teacher_vectors import sentences_identity
from data_prep.model_folders.identity import files_of
from embeddings.cluster import Reading
from embeddings.encode_data import DataEncoding, of_pairs, sentence_windows, store
from embeddings.encoders.options import (
    CHECKPOINT,
    SENTENCE_TRANSFORMERS,
    TRANSFORMERS,
    EncoderOptions,
    kind_of,
)
from embeddings.encoders.sentence_encoder import NotFinite, batches
from embeddings.windows import WINDOW

LONGEST = 120  # the default of --max-source-positions


def store_layer_sums(job: DataEncoding, longest: int, force: bool) -> None:
    """Store the sums of all sentences of a job's sets, also of monolingual texts, which unpaired training
    reads.

    Args:
        longest: tokens of a sentence, `</s>` included; what is behind them is cut off.
    """
    if job.text or job.normalize:
        option = "--text" if job.text else "--normalize"
        raise InputError(f"{option}: --layer-sums reads the binarized sentences as they are; leave it out")
    todo = [prefix for split in job.sets for prefix in of_pairs(text_prefixes(job.data, split), job)]
    reader = LayerReader.load(job.encoder, job.data, longest)
    arguments = (job.encoder.absolute(), job.data.absolute(), longest)
    reading = Reading(LayerReader.load, arguments, "sums")
    for prefix in todo:
        sentences, output = load_sentences(prefix), layer_sums_path(prefix, job.teacher)
        description = {
            "encoder": reader.record,
            "text": sentences_identity(prefix),
            "read": {"kind": "tokens"},
            "lines": len(sentences),
            "width": reader.layers * reader.record["width"],
            "dtype": job.dtype,
            "normalized": False,
            "layers": reader.layers,
            "longest": longest,
        }
        store(
            description,
            output,
            sentence_windows(sentences, max(1, WINDOW // reader.layers)),
            data_path(prefix),
            reading.all_by(reader, job.dask),
            force,
        )
        print(output)


@dataclass
class LayerReader:
    """An encoder whose layers are read.

    Attributes:
        encoder: a `fairseq_ext.models.pooled_encoder.PooledEncoder`.
    """

    encoder: object
    options: EncoderOptions
    longest: int
    record: dict
    cut: int = 0

    @classmethod
    def load(cls, options: EncoderOptions, data: Path, longest: int) -> "LayerReader":
        """A folder of transformers or sentence-transformers whose tokenizer is that of the data, or a
        sentence encoder of its dictionary: what `--pretrained-encoder` or `--finetune-from-model` start a
        training from.
        """
        kind = options.encoder or kind_of(options.model)
        readers = {CHECKPOINT: _of_checkpoint, TRANSFORMERS: _of_folder, SENTENCE_TRANSFORMERS: _of_folder}
        if kind not in readers:
            raise InputError(
                f"--layer-sums: {options.model} is an encoder of the kind {kind}; expected a checkpoint of a "
                "sentence encoder, or a folder of transformers or sentence-transformers"
            )
        for option in ("layer", "pooling", "prefix", "target_lang"):
            if getattr(options, option) is not None:
                raise InputError(f"--{option.replace('_', '-')}: --layer-sums stores all layers as they are")
        if options.precision != "float32":
            raise InputError(
                f"--precision {options.precision}: --layer-sums are trained on as if the encoder ran; leave"
                " it out"
            )
        encoder, weights = readers[kind](options, data)
        encoder = encoder.to(options.device()).eval()
        record = {
            "name": options.encoder_name or options.model.resolve().name,
            "kind": kind,
            "model": str(options.model),
            "width": encoder.embed_tokens.embedding_dim,
            "weights": weights,
        }
        if longest > encoder.max_positions():
            raise InputError(
                f"--max-tokens {longest}: the encoder reads {encoder.max_positions()}; expected no more"
            )
        return cls(encoder, options, longest, record)

    @property
    def layers(self) -> int:
        """L + 1."""
        return len(self.encoder.layers) + 1

    def sums(self, window: Sequence[list[int]]) -> np.ndarray:
        """n sentences, token ids with `</s>` last -> n x (L + 1) C.

        Raises:
            NotFinite: a sum is NaN or infinite.
        """
        import torch

        from fairseq_ext.data.dataset_parts import pad_right
        from fairseq_ext.data.sentence_pairs import cut

        eos, pad = self.encoder.dictionary.eos(), self.encoder.dictionary.pad()
        self.cut += sum(len(sentence) > self.longest for sentence in window)
        rows = [cut(np.asarray(sentence), self.longest, eos) for sentence in window]
        sums = np.zeros((len(rows), self.layers, self.record["width"]), dtype=np.float32)
        with torch.inference_mode():
            for some in batches(list(map(len, rows)), self.options.batch_tokens):
                tokens = pad_right([rows[row] for row in some], pad).to(self.options.device())
                sums[some] = self.encoder.sums_of_layers(tokens).float().cpu().numpy()
        sums = sums.reshape(len(rows), -1)
        if not np.isfinite(sums).all():
            raise NotFinite(self.record["name"], int((~np.isfinite(sums).all(axis=1)).argmax()))
        return sums


def _of_checkpoint(options: EncoderOptions, data: Path):
    from fairseq_ext.inference import load_for_inference
    from fairseq_ext.models.pooled_encoder import PooledEncoder

    loaded = load_for_inference(options.model, data, translates=False)
    if not isinstance(loaded.model.encoder, PooledEncoder):
        raise InputError(f"--layer-sums: {options.model} is no sentence encoder; expected one to train on")
    return loaded.model.encoder, {options.model.name: checksum(options.model)}


def _of_folder(options: EncoderOptions, data: Path):
    from data_prep.formats.dictionary import languages_with_dictionary, load_shared_dictionary
    from fairseq_ext.tasks.sentence_embedding import SentenceEmbeddingConfig, SentenceEmbeddingTask

    languages = languages_with_dictionary(data)
    task = SentenceEmbeddingTask(
        SentenceEmbeddingConfig(data=str(data)), load_shared_dictionary(data, languages)
    )
    task.add_tags(languages, "none")
    args = Namespace(_name="sentence_encoder", arch="sentence_encoder", pretrained_encoder=str(options.model))
    return task.build_model(args).encoder, files_of(options.model)
