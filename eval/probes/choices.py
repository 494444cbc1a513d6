"""Which layers and sentences the probe `states` stores, of any kind of model."""

from command_line.errors import InputError

TRAINING_SPLIT = "valid"


def choose_layers(available: dict[str, list[str]], wanted: list[str]) -> dict[str, dict[str, int]]:
    """The layers to store per side, from the bottom up: name -> number among those available.

    In a model without a final norm its name stands for the last layer.

    Raises:
        InputError: the model has no such layer.
    """
    names = [name for side in available.values() for name in side]
    chosen = names if wanted == ["all"] else wanted
    for side, layers in available.items():  # one list fits systems with and without final norms
        if (norm := f"{side}-norm") not in layers:
            chosen = [layers[-1] if name == norm else name for name in chosen]
    for name in chosen:
        if name not in names:
            raise InputError(f"--layers: {name!r} is no layer of the model; it has: {', '.join(names)}")
    return {
        side: {name: number for number, name in enumerate(layers) if name in chosen}
        for side, layers in available.items()
    }
