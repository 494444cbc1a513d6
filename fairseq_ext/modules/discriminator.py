"""A discriminator that trains itself: hidden from fairseq's optimizer, with an Adam of its own."""

import torch
import torch.nn.functional as F
from torch import Tensor, distributed, nn
from torch.func import functional_call

from fairseq_ext.modules.all_gather import sum_over_processes, world_size
from fairseq_ext.modules.dropout import Dropout
from fairseq_ext.modules.float32 import at_least_float32

CLIPPING, PENALTY, SPECTRAL, NONE = BOUNDS = ("clipping", "gradient-penalty", "spectral-norm", "none")
POWER_ITERATIONS = 3  # a step; weights, and so their singular vectors, change little from step to step


class Discriminator(nn.Module):
    """An unnormalized score of a vector: high for one kind of vectors, low for the other.

    Its parameters have no gradient of fairseq's; `learn` trains them. They stay float32 in a model of half
    precision. Weights and the state of Adam are its state.

    Args:
        width: C of the vectors.
        hidden: units of a layer with ReLU below the score; 0: the score is linear.
        lr: of Adam.
        bound: what keeps the scores from growing without end (`BOUNDS`): after every step all parameters are
            cut to [-strength, strength] (Arjovsky et al. 2017), or no matrix has a singular value above
            strength (after Miyato et al. 2018); or the loss has strength times the squared distance of the
            norm of the gradient between both kinds to 1 (Gulrajani et al. 2017).
        strength: of the bound.
        dropout: of what every layer returns, also the score; a gradient penalty is one of the whole score.
    """

    def __init__(self, width: int, hidden: int, lr: float, bound: str, strength: float, dropout: float = 0.0):
        super().__init__()
        sizes = (width, hidden, 1) if hidden else (width, 1)
        self.layers = nn.ModuleList(map(nn.Linear, sizes[:-1], sizes[1:]))
        self.bound, self.strength, self.dropout = bound, strength, Dropout(dropout)
        for number, layer in enumerate(self.layers):
            self.register_buffer(f"singular_{number}", F.normalize(torch.randn(layer.out_features), dim=0))
        self.requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        self._keep_bounds()

    def forward(self, vectors: Tensor, drops: bool = True) -> Tensor:
        """B x C -> B."""
        vectors, dropout = vectors.float(), self.dropout if drops else nn.Identity()
        *hidden, top = self.layers
        with torch.autocast(vectors.device.type, enabled=False):
            for layer in hidden:
                vectors = dropout(F.relu(layer(vectors)))
            return dropout(top(vectors)).squeeze(-1)

    def learn(self, low: Tensor, high: Tensor, steps: int) -> None:
        """Take steps that lower mean(d(low) - d(high)) over the vectors of all processes, which may have
        different numbers of them, also none.

        Args:
            low, high: B x C each.
        """
        low, high = low.detach().float(), high.detach().float()
        count = max(1, sum_over_processes(len(low), low.device))
        for _ in range(steps):
            weights = {name: weight.detach().requires_grad_() for name, weight in self.named_parameters()}
            with torch.enable_grad():
                gradients = torch.autograd.grad(self._loss(weights, low, high), list(weights.values()))
            for parameter, gradient in zip(self.parameters(), gradients, strict=True):
                if world_size() > 1:
                    distributed.all_reduce(gradient)
                parameter.grad = gradient / count
            self.optimizer.step()
            self.optimizer.zero_grad()
            self._keep_bounds()

    def _loss(self, weights: dict[str, Tensor], low: Tensor, high: Tensor) -> Tensor:
        """Summed over the vectors."""

        def scores(vectors: Tensor, drops: bool = True) -> Tensor:
            return functional_call(self, weights, (vectors, drops))

        loss = (scores(low) - scores(high)).sum()
        if self.bound != PENALTY:
            return loss
        shares = torch.rand(len(low), 1, device=low.device)
        between = torch.lerp(low, high, shares).requires_grad_()
        (slopes,) = torch.autograd.grad(scores(between, False).sum(), between, create_graph=True)
        return loss + self.strength * (slopes.norm(dim=1) - 1).square().sum()

    @torch.no_grad()
    def _keep_bounds(self) -> None:
        if self.bound == CLIPPING:
            for parameter in self.parameters():
                parameter.clamp_(-self.strength, self.strength)
        elif self.bound == SPECTRAL:
            for number, layer in enumerate(self.layers):
                left = getattr(self, f"singular_{number}")
                for _ in range(POWER_ITERATIONS):
                    right = F.normalize(layer.weight.t() @ left, dim=0)
                    left.copy_(F.normalize(layer.weight @ right, dim=0))
                largest = left @ layer.weight @ right
                layer.weight.div_((largest / self.strength).clamp(min=1))

    def _apply(self, function, recurse: bool = True):
        """Goes to any device, but not to half precision, in which Adam's small steps are lost."""
        return super()._apply(lambda tensor: at_least_float32(function(tensor)), recurse)

    def get_extra_state(self) -> dict:
        return self.optimizer.state_dict()

    def set_extra_state(self, state: dict) -> None:
        """Adam's moments; the learning rate is that of the options, which may be another one by now."""
        own = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({**state, "param_groups": own})
