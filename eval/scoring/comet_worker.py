"""Scores translations with COMET; a file that runs in any environment with unbabel-comet, without our code.

One JSON object per line on standard input: first {"model": …, "batch_size": …}, then any number of {"src":
[…], "mt": […], "ref": […]}; one answer per line on standard output: {"ready": true, "package": …,
"sha256": …} (the version of COMET and the checksum of the model), {"scores": […]} or {"error": …}. Whatever
libraries print goes to standard error.
"""

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
        raise RuntimeError(
            f"no COMET in this environment ({error}); pip install unbabel-comet there"
        ) from None
    path = checkpoint_path(model)
    return load_from_checkpoint(path), {"package": package(), "sha256": checksum(path)}


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
    found = model.predict(samples, batch_size=batch_size, gpus=gpus, progress_bar=False).scores
    return [float(one) for one in found]


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
                model, known = load(request["model"])
                batch_size = request["batch_size"]
                answer = {"ready": True, **known}
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
