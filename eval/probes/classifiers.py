"""Linear classifiers of tokens: all layers, questions and seeds as one batched linear map.

A classifier is one `C -> classes` map with bias. Classifiers of different layers see different states, those
of different questions have different labels, those of different seeds start from different weights; none
sees another's loss, so training them together is training each alone.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class LinearClassifiers(nn.Module):
    """One classifier per layer, seed and question.

    Args:
        layers: number of layers, L.
        width: C.
        classes: number of classes of each question; K in all.
        seeds: one initialization each, as `nn.Linear` draws it; S in all.
    """

    def __init__(self, layers: int, width: int, classes: Sequence[int], seeds: Sequence[int]):
        super().__init__()
        self.classes, self.seeds = list(classes), len(seeds)
        bound = 1 / math.sqrt(width)
        drawn = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            drawn.append(torch.rand(layers, width + 1, sum(classes), generator=generator))
        parameters = (2 * torch.cat(drawn, dim=2) - 1) * bound  # L x C + 1 x S K
        self.weight = nn.Parameter(parameters[:, :width].contiguous())  # L x C x S K
        self.bias = nn.Parameter(parameters[:, width:].contiguous())  # L x 1 x S K

    def forward(self, states: Tensor) -> list[Tensor]:
        """Logits per question, L x T x S x classes.

        Args:
            states: L x T x C.
        """
        logits = torch.baddbmm(self.bias, states, self.weight)
        return list(logits.unflatten(2, (self.seeds, sum(self.classes))).split(self.classes, dim=3))

    def loss(self, states: Tensor, labels: Tensor) -> Tensor:
        """Sum over the classifiers of their cross-entropy, each the mean over the tokens of the batch.

        Args:
            states: L x T x C.
            labels: questions x T, class numbers.
        """
        total = states.new_zeros(())
        for logits, gold in zip(self(states), labels, strict=True):
            chosen = gold[None, :, None, None].expand(*logits.shape[:3], 1)
            total = total - logits.log_softmax(dim=3).gather(3, chosen).sum() / len(gold)
        return total

    @torch.no_grad()
    def answers(self, states: Tensor) -> list[Tensor]:
        """How many tokens get which class, per question: L x S x classes.

        Args:
            states: L x T x C.
        """
        return [
            torch.stack([best.eq(one).sum(dim=1) for one in range(logits.size(3))], dim=2)
            for logits in self(states)
            for best in [logits.argmax(dim=3)]
        ]


class Trainer:
    """Adam steps of the classifiers of one side.

    Args:
        classifiers: what is trained.
        lr: learning rate.
    """

    def __init__(self, classifiers: LinearClassifiers, lr: float):
        self.classifiers = classifiers
        self.optimizer = torch.optim.Adam(classifiers.parameters(), lr=lr)

    def step(self, states: Tensor, labels: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.classifiers.loss(states, labels).backward()
        self.optimizer.step()
