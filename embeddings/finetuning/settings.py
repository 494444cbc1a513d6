"""What an encoder learned from, as tables name it, and how its result files name scores of examples."""

from collections.abc import Sequence


def is_translate_train_all(taught: Sequence[str], tested: Sequence[str]) -> bool:
    """Whether one training had all languages that it was tested in, and several."""
    return len(taught) > 1 and set(taught) >= set(tested)


def is_zero_shot(taught: Sequence[str], tested: Sequence[str]) -> bool:
    """Whether a training had one language, and was tested in others."""
    return len(taught) == 1 and set(tested) != set(taught)


def setting(taught: Sequence[str], tested: Sequence[str], code_switching: bool) -> str:
    """As in "zero-shot from en", "translate-train-all, 15 languages" or "code-switched, en, de".

    Args:
        taught, tested: languages of the training and of the test.
        code_switching: whether examples had a half in English each.
    """
    taught = list(dict.fromkeys(taught))
    languages = ", ".join(taught)
    if code_switching:
        return f"code-switched, {languages}"
    if is_translate_train_all(taught, tested):
        return f"translate-train-all, {len(taught)} languages"
    return f"zero-shot from {languages}" if is_zero_shot(taught, tested) else f"on {languages}"


def name_of_lines(measure: str, language: str) -> str:
    """The name of the scores of single examples beside `finetuning.csv`."""
    return f"{measure}/{language}"
