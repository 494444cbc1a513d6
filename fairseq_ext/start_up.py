"""A quiet start: what fairseq causes by itself, and no user can change, is not shown.

fairseq reads its options by functions that today's hydra calls deprecated, in seven warnings per start, and
one of its models makes every library log for debugging. These are hidden inside fairseq's own two calls of
hydra and nowhere else. It also asks torch for pinned memory where there is no accelerator, and gives torch's
attention masks of two types; these two sentences are hidden. Every other warning, also one of hydra's to
other callers, is shown as before.
"""

import functools
import logging
import warnings
from collections.abc import Callable
from contextlib import contextmanager

_HIDDEN = {  # how a sentence begins -> the module that says it
    "'pin_memory' argument is set as true but no accelerator is found": r"torch\.utils\.data\.dataloader",
    "Support for mismatched key_padding_mask and attn_mask is deprecated": r"torch\.nn\.functional",
}


def be_quiet() -> None:
    """fairseq is silent about what it causes from here on, in this process."""
    from fairseq.dataclass import utils

    for sentence, module in _HIDDEN.items():
        warnings.filterwarnings("ignore", sentence, UserWarning, module)
    if not hasattr(utils.compose, "__wrapped__"):
        # hydra finds fairseq's configuration beside the file that calls it: one call further up than before
        utils.initialize = functools.partial(_silently(utils.initialize), caller_stack_depth=2)
        utils.compose = _silently(utils.compose)


def _silently(function: Callable) -> Callable:
    @functools.wraps(function, updated=())
    def call(*arguments, **options):
        with warnings.catch_warnings(), _at_level(logging.getLogger("hydra"), logging.INFO):
            warnings.simplefilter("ignore", UserWarning)
            return function(*arguments, **options)

    return call


@contextmanager
def _at_level(logger: logging.Logger, level: int):
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
