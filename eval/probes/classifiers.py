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
        classes: number of classes of each of the Q questions; K in all.
        seeds: one initialization each, as `nn.Linear` draws it; S in all.
    """

    def __init__(
        self,
        layers: int,
        width: int,
        classes: Sequence[int],
        seeds: Sequence[int],
    ):
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

    @property
    def shape(self) -> tuple[int, int, int]:
        """L x S x Q, of what there is one of per classifier."""
        return self.weight.size(0), self.seeds, len(self.classes)

    def forward(self, states: Tensor) -> list[Tensor]:
        """Logits per question, L x T x S x classes.

        Args:
            states: L x T x C.
        """
        logits = torch.baddbmm(self.bias, states, self.weight)
        return list(logits.unflatten(2, (self.seeds, sum(self.classes))).split(self.classes, dim=3))

    def losses(self, states: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of every classifier, L x S x Q: in nats, the mean over the tokens.

        Args:
            states: L x T x C.
            labels: Q x T, class numbers.
        """
        return torch.stack(
            [_cross_entropy(logits, gold) for logits, gold in zip(self(states), labels, strict=True)], dim=2
        )

    @torch.no_grad()
    def right(self, states: Tensor, labels: Tensor) -> Tensor:
        """How many tokens get the class of their label, L x S x Q."""
        answers = [logits.argmax(dim=3) for logits in self(states)]  # L x T x S
        gold = labels[:, None, :, None]
        return torch.stack(
            [found.eq(one).sum(dim=1) for found, one in zip(answers, gold, strict=True)], dim=2
        )

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


def _cross_entropy(logits: Tensor, gold: Tensor) -> Tensor:
    """L x S: mean over the tokens. Of logits L x T x S x classes and class numbers T."""
    chosen = gold[None, :, None, None].expand(*logits.shape[:3], 1)
    return -logits.log_softmax(dim=3).gather(3, chosen).mean(dim=(1, 3))


class Trainer:
    """Adam steps of the classifiers of one side.

    Args:
        classifiers: what is trained.
        lr: learning rate.
    """

    def __init__(self, classifiers: LinearClassifiers, lr: float):
        self.classifiers = classifiers
        self.optimizer = torch.optim.Adam(classifiers.parameters(), lr=lr)

    def step(self, states: Tensor, labels: Tensor) -> Tensor:
        """The losses before the step, L x S x Q."""
        self.optimizer.zero_grad(set_to_none=True)
        losses = self.classifiers.losses(states, labels)
        losses.sum().backward()
        self.optimizer.step()
        return losses.detach()
