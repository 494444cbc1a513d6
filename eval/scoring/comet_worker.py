"""Scores translations with COMET; a file that runs in any environment with unbabel-comet, without our code.

One JSON object per line on standard input: first {"model": …}, then any number of {"src": […], "mt": […],
"ref": […]}; one answer per line on standard output: {"ready": true}, {"scores": […]} or {"error": …}.
Whatever libraries print goes to standard error.
"""

import json
import os
import sys

BATCH_SIZE = 16  # COMET's default


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
    try:
        from comet import load_from_checkpoint
    except ImportError as error:
        raise RuntimeError(
            f"no COMET in this environment ({error}); pip install unbabel-comet there"
        ) from None
    return load_from_checkpoint(checkpoint_path(model))


def scores(model, request):
    """COMET's score of every line."""
    import torch

    rows = zip(request["src"], request["mt"], request["ref"])  # noqa: B905 - the environment may be older than 3.10
    samples = [{"src": src, "mt": mt, "ref": ref} for src, mt, ref in rows]
    gpus = 1 if torch.cuda.is_available() else 0
    found = model.predict(samples, batch_size=BATCH_SIZE, gpus=gpus, progress_bar=False).scores
    return [float(one) for one in found]


def main():
    # Our folder must not hide other packages' modules; the answers need a stream that no library prints to.
    own_folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != own_folder]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    model = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "model" in request:
                model = load(request["model"])
                answer = {"ready": True}
            else:
                answer = {"scores": scores(model, request)}
        except Exception as error:  # any failure of COMET becomes one line at the other end
            import traceback

            traceback.print_exc()
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
