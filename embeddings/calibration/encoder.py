"""The encoder that is calibrated: modules of sentence-transformers, from a folder of either library."""

from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from command_line.errors import InputError
from data_prep.model_folders.loading import SAFELY, call_by, load_model, load_modules, load_tokenizer
from data_prep.model_folders.models import check_model
from embeddings.calibration.options import ALL_LAYERS, ENCODER, Calibration
from embeddings.encoders.options import SENTENCE_TRANSFORMERS, TRANSFORMERS, EncoderOptions, kind_of
from embeddings.encoders.sentence_transformers_folder import SentenceTransformersEncoder
from embeddings.encoders.transformers_folder import TransformersEncoder

PROMPT = "calibrated"  # name of a prefix, in the settings of sentence-transformers
SAMPLE = ("A layer is what is below it.", "Two children are playing.")


def load_encoder(job: Calibration) -> SentenceTransformer:
    """The encoder as it is before training, on the processor.

    Raises:
        InputError: the folder holds none, code of its own, or pickled weights; the encoder reads tags of
            languages; or it has no such layer.
    """
    if kind_of(job.model) == SENTENCE_TRANSFORMERS:
        return _with_prefix(load_modules(job.model), job.prefix)
    layer = None if job.layer is None else str(job.layer)
    options = EncoderOptions(
        job.model, TRANSFORMERS, pooling=job.pooling, layer=layer, prefix=job.prefix, cpu=True
    )
    whole = TransformersEncoder.load(options)
    if whole.codes or whole.model.config.is_encoder_decoder:
        raise InputError(f"--model {job.model}: is of a translation model; expected an encoder alone")
    model = _with_prefix(_as_modules(job.model, whole.pooling, job.layer, whole.longest), job.prefix)
    if job.layer is not None:
        cut = as_encoder(model, job.model, cpu=True)
        if not np.allclose(whole.encode(SAMPLE), cut.encode(SAMPLE), atol=1e-3):
            raise InputError(
                f"--layer {job.layer}: {job.model} ends with more than layers (a norm, for example), so"
                " that a layer's states are not those of a shorter encoder; leave the option out"
            )
    return model


def _as_modules(folder: Path, pooling: str, layer: int | None, longest: int) -> SentenceTransformer:
    """The first layers with a pooling. What is above is not even loaded: it would learn nothing."""
    with check_model(folder).opened(TRANSFORMERS) as private:
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

        states = Transformer(
            str(private),
            model_kwargs=SAFELY | {"use_safetensors": True},
            processor_kwargs=dict(SAFELY),
            config_kwargs=SAFELY | ({} if layer is None else {"num_hidden_layers": layer}),
            max_seq_length=longest,
        )
        call_by(states.tokenizer, private, folder)
        pooled = Pooling(states.get_embedding_dimension(), pooling_mode=pooling)
        return SentenceTransformer(modules=[states, pooled], device="cpu")


def _with_prefix(model: SentenceTransformer, prefix: str | None) -> SentenceTransformer:
    """The model with a prompt in front of every sentence, which is saved with it."""
    if prefix is not None:
        model.prompts, model.default_prompt_name = {PROMPT: prefix}, PROMPT
    return model


def save_all_layers(job: Calibration, output: Path) -> None:
    """Write a folder of transformers beside the calibrated encoder: its layers, and those above as they were.

    They got no gradient. Whoever fine-tunes the encoder has as many layers as of one that is not calibrated.
    """
    model, _ = load_model(job.model)
    calibrated = load_modules(output / ENCODER)[0].model.state_dict()
    notes = model.load_state_dict(calibrated, strict=False)
    assert not notes.unexpected_keys, notes
    model.save_pretrained(output / ALL_LAYERS, safe_serialization=True)
    load_tokenizer(job.model).save_pretrained(output / ALL_LAYERS)


def as_encoder(model: SentenceTransformer, folder: Path, cpu: bool) -> SentenceTransformersEncoder:
    """The model as all commands use it; it is in evaluation mode from then on."""
    return SentenceTransformersEncoder(model, EncoderOptions(folder, SENTENCE_TRANSFORMERS, cpu=cpu))
