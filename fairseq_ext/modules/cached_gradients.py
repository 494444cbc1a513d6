"""Large batches of sentence vectors in the memory of small ones: cached gradients (GradCache).

Reference: Gao et al. 2021 ("Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup"). A
contrastive loss needs the vectors of all sentences of a batch, but the activations behind a vector only for
the gradient with respect to that vector. So the sentences are encoded in slices that keep nothing but the
vectors; the loss is computed on all of them; and in the backward pass slice after slice is encoded once more,
with the same random numbers, to pass the gradients of its vectors on. Loss and gradient are those of the
whole batch; encoding costs one forward pass more.
"""

from collections.abc import Callable, Mapping

from torch import Tensor
from torch.utils.checkpoint import checkpoint


def slices_of(inputs: Mapping[str, Tensor], size: int) -> list[dict[str, Tensor]]:
    """Rows of all tensors, at most `size` at a time."""
    rows = len(next(iter(inputs.values())))
    return [
        {name: tensor[start : start + size] for name, tensor in inputs.items()}
        for start in range(0, rows, size)
    ]


def vectors_in_slices(encode: Callable[..., Tensor], slices: list[dict[str, Tensor]]) -> list[Tensor]:
    """The vectors of each slice, encoded again in the backward pass.

    Args:
        encode: function of a slice's tensors, by name.
    """

    def again(names: tuple[str, ...], *tensors: Tensor) -> Tensor:
        return encode(**dict(zip(names, tensors, strict=True)))

    return [checkpoint(again, tuple(each), *each.values(), use_reentrant=False) for each in slices]
