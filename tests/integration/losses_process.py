"""One of two processes with losses: `losses_process RANK RENDEZVOUS CASES` prints a line of JSON per case."""

import json
import sys
from types import SimpleNamespace

import torch
from fairseq.distributed import ModuleProxyWrapper
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from tests.fairseq_ext import bridges, test_distillation, test_sentence_losses
from tests.fairseq_ext.bridges import TaggedTask
from tests.fairseq_ext.encodings import random_batch, random_outputs
from tests.fairseq_ext.test_adversarial_losses import Task
from tests.fairseq_ext.test_weighted_losses import ALL_THREE, make_batch, make_criterion, make_model
from tests.fairseq_ext.test_word_contrastive import make, states


def gather(rank: int, shares: list, options: dict) -> list:
    """Loss, value, count and gradients of this process's share of the aligned words."""
    loss, outputs = make(gather_negatives=True, **options), random_outputs()
    batch = random_batch(shares[rank])
    batch["ntokens"] = [7, 4][rank]
    term = loss(outputs, batch)
    term.loss.backward()
    gradients = [tensor.grad.flatten().tolist() for tensor in (*states(outputs), *loss.parameters())]
    return [term.loss.item(), term.value.item(), term.count, gradients]


def synchronize(model, criterion, batch: dict) -> list:
    """Gradients of model and criterion after two backward passes through torch's wrappers."""
    parts = [  # as fairseq does, which wraps what has parameters
        ModuleProxyWrapper(DistributedDataParallel(part.eval())) if list(part.parameters()) else part.eval()
        for part in (model, criterion)
    ]
    for _ in range(2):  # nothing is left waiting by the first
        parts[1](parts[0], batch)[0].backward()
    return [parameter.grad.flatten().tolist() for part in parts for parameter in part.parameters()]


def embed(rank: int, shares: list, options: dict) -> list:
    """Loss and gradients of EMS in torch's wrappers, for this process's share of the sentence pairs."""
    model = test_sentence_losses.make_model()
    criterion = test_sentence_losses.make_criterion(model=model, **options)
    parts = [ModuleProxyWrapper(DistributedDataParallel(part)) for part in (model, criterion)]
    loss, size, _ = parts[1](parts[0], test_sentence_losses.make_batch(shares[rank]))
    loss.backward()
    trained = [each for part in parts for each in part.parameters() if each.requires_grad]
    return [loss.item(), size, [parameter.grad.flatten().tolist() for parameter in trained]]


def learn_from_teacher(rank: int, shares: list, options: dict) -> list:
    """As `embed`, with the losses of distillation."""
    model = test_sentence_losses.make_model()
    criterion = test_distillation.make_criterion(model, **options)
    parts = [ModuleProxyWrapper(DistributedDataParallel(part)) for part in (model, criterion)]
    loss, size, log = parts[1](parts[0], test_distillation.make_batch(shares[rank]))
    loss.backward()
    gradients = [parameter.grad.flatten().tolist() for part in parts for parameter in part.parameters()]
    logged = [float(log[f"{name}:sum"]) for name in test_distillation.LEALLA.split(",")]
    return [loss.item(), size, gradients, logged]


def gathering(kind: str, rows) -> tuple:
    """Model, criterion and batch of losses that gather from all processes."""
    if kind == "word_contrastive":
        options = {"word_contrastive_gather_negatives": True, "word_contrastive_dropout": 0.0}
        return make_model(), make_criterion(ALL_THREE, **options), make_batch(rows)
    model = test_sentence_losses.make_model()
    if kind == "sentence_contrast":
        options = {f"{kind}_gather_negatives": True, f"{kind}_drop_duplicates": True}
        return (
            model,
            test_sentence_losses.make_criterion(model=model, **options),
            test_sentence_losses.make_batch(rows),
        )
    options = {"logit_distillation_temperature": 1.0, "logit_distillation_weight": 1.0}
    options |= {
        "feature_distillation_weight": 0.1,
        "logit_distillation_gather": True,
        "additive_margin_gather_negatives": True,
    }
    return model, test_distillation.make_criterion(model, **options), test_distillation.make_batch(rows)


def stand_in(rank: int, kind: str, shares: list) -> list:
    """Loss and gradients of a step in which the second process has a batch in place of an empty one, and
    the loss of validation.
    """
    model, criterion, batch = gathering(kind, shares[rank])
    parts = [ModuleProxyWrapper(DistributedDataParallel(part)) for part in (model, criterion)]
    optimizer = SimpleNamespace(backward=lambda loss: loss.backward())
    loss, *_ = Task(criterion).train_step(batch, *parts, optimizer, 1, ignore_grad=rank == 1)
    trained = [each for part in parts for each in part.parameters() if each.requires_grad]
    gradients = [parameter.grad.flatten().tolist() for parameter in trained]
    with torch.no_grad():
        validated = criterion.eval()(model.eval(), batch)[0].item()
    return [loss.item(), gradients, validated]


def main(rank: int, rendezvous: str, cases: str) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    gathered, synchronized, bridged, paired, taught, short = json.loads(cases)
    for shares, options in gathered:
        print(json.dumps(gather(rank, shares, options)))
    for rows in synchronized:
        print(json.dumps(synchronize(make_model(), make_criterion(ALL_THREE), make_batch(rows[rank]))))
    for pairs in bridged:
        print(
            json.dumps(synchronize(*bridges.model_and_criterion(), bridges.batch(TaggedTask(), pairs[rank])))
        )
    for shares, options in paired:
        print(json.dumps(embed(rank, shares, options)))
    for shares, options in taught:
        print(json.dumps(learn_from_teacher(rank, shares, options)))
    for kind, shares in short:
        print(json.dumps(stand_in(rank, kind, shares)))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
