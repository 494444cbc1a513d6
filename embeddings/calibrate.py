"""Fine-tune an encoder on English alone, so that retrieval compares what encoders know across languages.

Encoders that did not compare sentences in pre-training (mBERT, XLM-R) have no good sentence embeddings, and
so retrieve badly. Here they learn these from English inference (multiple negatives ranking loss over premise,
entailed and contradicting hypothesis), then from English similarity (cosine similarity loss), as in 3.2 of
"Is Cross-lingual Evaluation Only About Cross-lingual?". `retrieve` then measures calibrated sentence
retrieval.

P@1 on --valid-parallel is measured after every tenth of the updates. Do not test on these files later. The
best checkpoint becomes DIR/encoder, a folder of sentence-transformers, for --model of every command. With
--layer, DIR/encoder-all-layers is the same with the layers above, for `finetune`. DIR/calibration.json has
P@1 of every checkpoint, and of the encoder before training. A killed training continues.
"""

from collections.abc import Callable

from command_line.completion import Stamp
from command_line.option_classes import by_name
from command_line.provenance import checksums, command_typed, versions
from command_line.trainings import TrainingFolder, check_one_process
from embeddings.calibration.options import ENCODER, KIND, Calibration
from embeddings.encoders.options import EncoderOptions
from embeddings.parallel_validation import SCORE, texts_of
from embeddings.test_sets import read_sides


def main(job: Calibration) -> None:
    job.check()
    check_one_process("calibration")
    pairs = job.validation.pairs()
    inputs = [*job.nli, job.sts, *texts_of(pairs), *EncoderOptions(job.model).files(job.output)]
    stamp = Stamp(job.output / f".{KIND}.done", KIND, by_name(job), inputs)
    training = TrainingFolder(stamp, job.force, f"{KIND}.json", f"{ENCODER}*")
    training.do(lambda: prepared(job, pairs, inputs))
    print(job.output / ENCODER)


def prepared(job: Calibration, pairs: list, inputs: list) -> Callable[[dict], dict]:
    """The training, of inputs that have been read."""
    from data_prep.model_folders.libraries import reading
    from embeddings.calibration.examples import Course, read_inferences, read_rated

    inferences, rated = read_inferences(job.nli), read_rated(job.sts)
    for pair in pairs:
        read_sides(pair)
    with reading(job.model, "transformers"):
        from embeddings.best_model import best_of
        from embeddings.calibration.encoder import load_encoder, save_all_layers
        from embeddings.calibration.training import train
    import torch

    torch.manual_seed(job.seed)  # of weights that the encoder lacks and does not use
    model = load_encoder(job)
    course = Course(inferences, rated, job.nli_epochs, job.sts_epochs, job.batch_size, job.seed)

    def calibrate(settings: dict) -> dict:
        checkpoints = train(job, job.output, model, course, pairs)
        if job.layer is not None:
            save_all_layers(job, job.output)
        return {
            "format": 1,
            "kind": KIND,
            "settings": settings,
            "examples": {"nli": len(inferences), "sts": len(rated)},
            "batches": dict(zip(("nli", "sts"), course.stages, strict=True)),
            "before": checkpoints[0],
            "score": SCORE,
            "best": best_of(checkpoints, SCORE),
            "checkpoints": checkpoints[1:],
            "inputs": checksums(inputs),
            "command": command_typed("embeddings"),
            "versions": versions("torch", "transformers", "sentence-transformers", "accelerate"),
        }

    return calibrate
