"""How the classifiers of layer-wise language recognition are trained, and how that is written in a table."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import option

LINEAR, MLP = "linear", "mlp"  # kinds of classifiers


@dataclass(frozen=True)
class Protocol:
    """What a protocol does not have is None.

    Attributes:
        name: of `PROTOCOLS`.
        epochs: passes over the training set; at most, but for "paper".
        grid: values of C (of scikit-learn's `LogisticRegression`) from which held-out accuracy chooses.
        gradient_norm: largest absolute derivative of the mean loss per token at which a classifier is done.
        patience: passes without a lower loss on held-out sentences after which a classifier is done.
        hidden: units of the hidden layer of a perceptron.
        lr, batch_size, seeds: learning rate of Adam, sentences per batch, initializations.
    """

    name: str
    epochs: int
    grid: tuple[float, ...] | None = None
    gradient_norm: float | None = None
    patience: int | None = None
    hidden: int | None = None
    lr: float | None = None
    batch_size: int | None = None
    seeds: tuple[int, ...] | None = None

    @property
    def advice(self) -> str:
        """What to do where a classifier has not converged."""
        return "use --protocol optimum" if self.name == "paper" else f"allow more than --epochs {self.epochs}"

    @classmethod
    def of(cls, name: str, **given) -> "Protocol":
        """A protocol with the settings that are given and not None.

        Raises:
            InputError: the protocol has no such setting.
        """
        protocol = PROTOCOLS[name]
        given = {setting: value for setting, value in given.items() if value is not None}
        for setting in given:
            if getattr(protocol, setting) is None:
                others = [
                    asked_for(other) for other, one in PROTOCOLS.items() if getattr(one, setting) is not None
                ]
                raise InputError(
                    f"--{setting.replace('_', '-')}: {asked_for(name)} has none; leave it out, or use"
                    f" {' or '.join(others)}"
                )
        return replace(protocol, **given)

    @property
    def variant(self) -> str:
        """What sets it apart from the default one, for the name of its curve; "" for nothing."""
        default = PROTOCOLS[self.name]
        others = [
            words.format(_written(getattr(self, setting)))
            for setting, words in WORDS.items()
            if getattr(self, setting) != getattr(default, setting)
        ]
        return ", ".join(["", *NAMES[self.name], *others])

    def record(self) -> dict:
        """For the result file, with "protocol" for the name, without the seeds."""
        settings = {name: value for name, value in asdict(self).items() if value is not None}
        settings.pop("seeds", None)
        if self.grid:
            settings["grid"] = list(self.grid)
        return {"protocol": settings.pop("name"), **settings}


PROTOCOLS = {
    "optimum": Protocol("optimum", epochs=500, grid=(0.001, 0.01, 0.1, 1.0), gradient_norm=1e-5),
    "early-stopping": Protocol("early-stopping", epochs=100, patience=5),
    "paper": Protocol("paper", epochs=3, lr=1e-3, batch_size=64, seeds=(1, 2, 3)),  # thesis 8.2.3
    MLP: Protocol(MLP, epochs=50, patience=3, hidden=64, lr=1e-3, batch_size=64, seeds=(1,)),
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
    values = {name: getattr(protocol, setting) for name, protocol in PROTOCOLS.items()}
    known = {name: value for name, value in values.items() if value is not None}
    return ", ".join(
        f"{name}: {','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in known.items()
    )


def _setting(name: str, help: str, type: types.OptionType):
    """An option that some protocols have; its default is theirs."""
    return option(f"{help} ({default_of(name)})", type=type)


@dataclass(frozen=True, kw_only=True)
class ProtocolOptions:
    """How to train, as asked for: a setting that is None is that of the protocol."""

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
        "epochs", "passes over the training set; at most, but for paper", types.positive
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
        "seeds", "of the initialization; the other protocols do not depend on it", types.items(types.seed)
    )

    def chosen(self) -> Protocol:
        """The protocol with these settings.

        Raises:
            InputError: a setting that it does not have; a protocol of linear classifiers for others.
        """
        if self.probe == MLP and self.protocol:
            raise InputError(f"--protocol {self.protocol}: of --probe {LINEAR}; leave it out")
        settings = {name: getattr(self, name) for name in (*WORDS, "seeds")}
        listed = {
            name: value and tuple(value) for name, value in settings.items() if name in ("grid", "seeds")
        }
        name = MLP if self.probe == MLP else self.protocol or OF_LINEAR[0]
        return Protocol.of(name, **settings | listed)


def _written(setting) -> str:
    return ",".join(f"{value:g}" for value in setting) if isinstance(setting, tuple) else str(setting)


def unconverged(rows: Iterable[Mapping]) -> str:
    """Which classifiers of a run have not converged, in words; "" if all have.

    Args:
        rows: of the run.
    """
    every = [row for row in rows if row["measure"] == "converged"]
    missing: dict[str, list[str]] = {}
    for row in every:
        if not row["value"]:
            missing.setdefault(row["part"], []).append(row["layer"])
    count = sum(map(len, missing.values()))
    named = "; ".join(
        f"{question}: {', '.join(dict.fromkeys(layers))}" for question, layers in missing.items()
    )
    return f"{count} of {len(every)} classifiers have not converged ({named})" if count else ""
