"""Scores translations with COMET; a file that runs in any environment with unbabel-comet, without our code.

One JSON object per line on standard input: first {"model": …, "batch_size": …}, then any number of {"src":
[…], "mt": […], "ref": […]}; one answer per line on standard output: {"ready": true, "package": …,
"sha256": …, "reference_free": …} (the version of COMET, the checksum of the model, and whether it leaves
references unread), {"scores": […]} or {"error": …}. Whatever libraries print goes to standard error.
"""

import contextlib
import hashlib
import json
import os
import sys


def checkpoint_path(model):
    """The checkpoint of a local path, or of a model name, which COMET downloads or finds in its cache."""
    inside = os.path.join(model, "checkpoints", "model.ckpt")
    if os.path.isdir(model):
        return inside
    if os.path.exists(model) or model.endswith(".ckpt"):
        return model
    from comet import download_model

    return download_model(model)


def load(model):
    """The model, and what is to be known of it."""
    try:
        from comet import load_from_checkpoint
    except ImportError as error:
        raise RuntimeError(f"no COMET in this environment ({error}); {remedy()}") from None
    path = checkpoint_path(model)
    prepare_encoder(path)
    loaded = load_from_checkpoint(path)
    about = {"package": package(), "sha256": checksum(path), "reference_free": is_reference_free(loaded)}
    return loaded, about


def remedy():
    if sys.version_info >= (3, 13):
        return "COMET needs Python 3.12 or older: name such an environment with --comet-python"
    return "pip install unbabel-comet there"


def prepare_encoder(path):
    """Check that the encoder is there, which a checkpoint only names: it comes from the hub or its cache.

    COMET's own error about a missing encoder names neither the encoder nor the file.
    """
    settings = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(path))), "hparams.yaml")
    if not os.path.isfile(settings):
        return  # COMET says what the folder lacks
    import yaml
    from transformers import PretrainedConfig

    with open(settings, encoding="utf-8") as stream:
        encoder = yaml.safe_load(stream)["pretrained_model"]
    try:
        PretrainedConfig.get_config_dict(encoder)  # reads JSON alone
    except OSError as error:
        raise RuntimeError(
            f"{settings}: its encoder {encoder} cannot be read: {error} Fetch it once with a connection."
        ) from None
    make_sentencepiece_readable()


def make_sentencepiece_readable():
    """Let transformers read models of sentencepiece with the older protobuf that COMET wants, as
    `data_prep/model_folders/libraries.py` does, which this file cannot import.
    """
    try:
        import sentencepiece.sentencepiece_model_pb2  # noqa: F401
    except ImportError:
        with contextlib.suppress(ImportError):  # neither is there: transformers says what it needs
            from transformers.utils import sentencepiece_model_pb2_new

            sys.modules["sentencepiece.sentencepiece_model_pb2"] = sentencepiece_model_pb2_new


def is_reference_free(model):
    """Whether scores depend on sources and translations alone, as those of CometKiwi."""
    segments = model.hparams.get("input_segments")
    return not model.requires_references() if segments is None else "ref" not in segments


def package():
    """Name and version of COMET."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"unbabel-comet {version('unbabel-comet')}"
    except PackageNotFoundError:  # a source folder on the path
        return None


def checksum(path):
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def scores(model, request, batch_size):
    """COMET's score of every line."""
    import torch

    rows = zip(request["src"], request["mt"], request["ref"])  # noqa: B905 - the environment may be older than 3.10
    samples = [{"src": src, "mt": mt, "ref": ref} for src, mt, ref in rows]
    gpus = 1 if torch.cuda.is_available() else 0
    of_lines = model.predict(samples, batch_size=batch_size, gpus=gpus, progress_bar=False).scores
    return [float(score) for score in of_lines]


def main():
    # Our folder must not hide other packages' modules; the answers need a stream that no library prints to.
    own_folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != own_folder]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    model = batch_size = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "model" in request:
                model, about = load(request["model"])
                batch_size = request["batch_size"]
                answer = {"ready": True, **about}
            else:
                answer = {"scores": scores(model, request, batch_size)}
        except Exception as error:  # any failure of COMET becomes one line at the other end
            import traceback

            traceback.print_exc()
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
