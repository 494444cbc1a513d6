"""How the classifiers of layer-wise language recognition are trained, and how that is written in a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import option

LINEAR, MLP = "linear", "mlp"  # kinds of classifiers


PROTOCOLS = {
    "optimum": {"epochs": 500, "grid": [0.001, 0.01, 0.1, 1.0], "gradient_norm": 1e-5},
    "early-stopping": {"epochs": 100, "patience": 5},
    "paper": {"epochs": 3, "lr": 1e-3, "batch_size": 64, "seeds": [1, 2, 3]},  # thesis 8.2.3
    MLP: {"epochs": 50, "patience": 3, "hidden": 64, "lr": 1e-3, "batch_size": 64, "seeds": [1]},
}
OF_LINEAR = tuple(name for name in PROTOCOLS if name != MLP)
NAMES = {
    "optimum": [],
    "early-stopping": ["early stopping"],
    "paper": ["the paper's protocol"],
    MLP: ["perceptrons"],
}
WORDS = {
    "epochs": "{} epochs",
    "grid": "C of {}",
    "gradient_norm": "gradient norm {}",
    "hidden": "{} hidden units",
    "lr": "lr {}",
    "batch_size": "batches of {}",
    "patience": "patience {}",
}


def asked_for(name: str) -> str:
    """The option that chooses a protocol."""
    return f"--probe {MLP}" if name == MLP else f"--protocol {name}"


def default_of(setting: str) -> str:
    """The defaults of a setting, for the help of its option."""
    values = {name: settings[setting] for name, settings in PROTOCOLS.items() if setting in settings}
    return ", ".join(
        f"{name}: {','.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in values.items()
    )


def _setting(name: str, help: str, type: types.OptionType):
    """An option that some protocols have; its default is theirs."""
    return option(f"{help} ({default_of(name)})", type=type)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How to train: a setting that is None is that of the protocol, as far as it has it (`complete`)."""

    probe: str = option(
        f"kind of classifier: {LINEAR}, or a perceptron with a hidden layer, trained by Adam on standardized"
        " states to the lowest held-out loss",
        LINEAR,
        choices=(LINEAR, MLP),
    )
    protocol: str | None = option(
        "how linear classifiers are trained. optimum: the minimum of the L2-regularized loss on standardized"
        " states; early-stopping: the lowest held-out loss without regularization; paper: 3 epochs on states"
        " as they are (thesis 8.2.3; Adam is our guess) (default: optimum)",
        choices=OF_LINEAR,
    )
    epochs: int | None = _setting(
        "epochs", "passes over the training set; except for paper, at most so many", types.positive
    )
    grid: list[float] | None = _setting(
        "grid", "values of C; held-out accuracy chooses one", types.items(types.number(0, 1e6, above=True))
    )
    gradient_norm: float | None = _setting(
        "gradient_norm", "largest derivative at which a classifier is done", types.number(0, 1, above=True)
    )
    patience: int | None = _setting("patience", "passes without a lower held-out loss", types.positive)
    hidden: int | None = _setting("hidden", "units of the hidden layer", types.positive)
    lr: float | None = _setting("lr", "learning rate of Adam", types.number(0, 100, above=True))
    batch_size: int | None = _setting("batch_size", "sentences per batch", types.positive)
    seeds: list[int] | None = _setting(
        "seeds", "seeds of the initialization; other protocols do not depend on it", types.items(types.seed)
    )

    @property
    def name(self) -> str:
        """The name of the protocol."""
        return MLP if self.probe == MLP else self.protocol or OF_LINEAR[0]

    def complete(self) -> Self:
        """The options, with the settings of the protocol for those that are not given.

        Raises:
            InputError: a setting that the protocol lacks; a protocol of linear classifiers for others.
        """
        if self.probe == MLP and self.protocol:
            raise InputError(f"--protocol {self.protocol}: of --probe {LINEAR}; leave it out")
        defaults = PROTOCOLS[self.name]
        for setting in (*WORDS, "seeds"):
            if getattr(self, setting) is not None and setting not in defaults:
                others = [asked_for(name) for name, settings in PROTOCOLS.items() if setting in settings]
                raise InputError(
                    f"--{setting.replace('_', '-')}: {asked_for(self.name)} has none; leave it out, or use"
                    f" {' or '.join(others)}"
                )
        missing = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        return replace(self, **missing)

    @property
    def variant(self) -> str:
        """What sets the protocol apart from the default one, for the name of its curve; "" for nothing."""
        defaults = PROTOCOLS[self.name]
        others = [
            words.format(",".join(f"{number:g}" for number in value) if isinstance(value, list) else value)
            for setting, words in WORDS.items()
            if (value := getattr(self, setting)) not in (None, defaults.get(setting))
        ]
        return ", ".join(["", *NAMES[self.name], *others])

    def record(self) -> dict:
        """The settings, without the seeds, for the result file."""
        settings = {setting: value for setting in WORDS if (value := getattr(self, setting)) is not None}
        return {"protocol": self.name, **settings}

    @property
    def advice(self) -> str:
        """What to do where a classifier has not converged."""
        return "use --protocol optimum" if self.name == "paper" else f"allow more than --epochs {self.epochs}"


def unconverged(rows: Iterable[Mapping]) -> str:
    """Which classifiers of the rows of a run have not converged, in words; "" if all have."""
    converged = [row for row in rows if row["measure"] == "converged"]
    missing: dict[str, list[str]] = {}
    for row in converged:
        if not row["value"]:
            missing.setdefault(row["part"], []).append(row["layer"])
    count = sum(map(len, missing.values()))
    named = "; ".join(
        f"{question}: {', '.join(dict.fromkeys(layers))}" for question, layers in missing.items()
    )
    return f"{count} of {len(converged)} classifiers have not converged ({named})" if count else ""
