"""The scores of answers, without computing what a model would say after every token of a question."""

from torch import Tensor, nn

from llm.tuning.examples import IGNORED


class AnswerTokens:
    """What a model says of the tokens of answers, given what is before them.

    The output layer of BLOOM has 250,880 columns: over all tokens of a batch it takes more memory than the
    model. Its input is cut to the states in front of the tokens of answers, by a hook that stays on it.
    """

    def __init__(self, model: nn.Module):
        self._wanted: Tensor | None = None
        model.get_output_embeddings().register_forward_pre_hook(self._only_wanted)

    def _only_wanted(self, layer: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return inputs if self._wanted is None else (inputs[0][self._wanted],)

    def __call__(self, model: nn.Module, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Scores of the N tokens of all answers of a batch, float32, N x V, and these tokens, N.

        Args:
            model: that of the constructor, or what wraps it for several devices.
            inputs: "input_ids", "attention_mask" and "labels", B x T; labels of questions and padding are
                IGNORED.
        """
        labels = inputs["labels"][:, 1:]
        learned = labels.ne(IGNORED)
        self._wanted = nn.functional.pad(learned, (0, 1))  # the state before a token tells it
        try:
            output = model(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False
            )
        finally:
            self._wanted = None
        return output.logits.float(), labels[learned]
