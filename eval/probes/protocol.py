"""How the classifiers of layer-wise language recognition are trained, and how that is written in a table."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from command_line import options as types
from command_line.errors import InputError


@dataclass(frozen=True)
class Protocol:
    """What a protocol does not have is None.

    Attributes:
        name: "optimum", "early-stopping" or "paper".
        epochs: passes over the training set; at most, but for "paper".
        grid: values of C (of scikit-learn's `LogisticRegression`) from which held-out accuracy chooses.
        gradient_norm: largest absolute derivative of the mean loss per token at which a classifier is done.
        patience: passes without a lower loss on held-out sentences after which a classifier is done.
        lr, batch_size, seeds: learning rate of Adam, sentences per batch, initializations.
    """

    name: str
    epochs: int
    grid: tuple[float, ...] | None = None
    gradient_norm: float | None = None
    patience: int | None = None
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
                others = [other for other, one in PROTOCOLS.items() if getattr(one, setting) is not None]
                raise InputError(
                    f"--{setting.replace('_', '-')}: --protocol {name} has none; leave it out, or use"
                    f" --protocol {' or '.join(others)}"
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
}
NAMES = {"optimum": [], "early-stopping": ["early stopping"], "paper": ["the paper's protocol"]}
WORDS = {
    "epochs": "{} epochs",
    "grid": "C of {}",
    "gradient_norm": "gradient norm {}",
    "lr": "lr {}",
    "batch_size": "batches of {}",
    "patience": "patience {}",
}


@dataclass(frozen=True)
class ProtocolOptions:
    """How to train, as asked for: a setting that is None is that of the protocol."""

    protocol: str
    epochs: int | None
    grid: list[float] | None
    gradient_norm: float | None
    patience: int | None
    lr: float | None
    batch_size: int | None
    seeds: list[int] | None

    def chosen(self) -> Protocol:
        """The protocol with these settings; an `InputError` for one that it does not have."""
        return Protocol.of(
            self.protocol, epochs=self.epochs, grid=self.grid and tuple(self.grid),
            gradient_norm=self.gradient_norm, patience=self.patience, lr=self.lr, batch_size=self.batch_size,
            seeds=self.seeds and tuple(self.seeds),
        )  # fmt: skip


def add_protocol_arguments(parser) -> None:
    parser.add_argument(
        "--protocol",
        choices=PROTOCOLS,
        default="optimum",
        help="optimum: the minimum of the L2-regularized loss on standardized states; early-stopping: the"
        " lowest held-out loss without regularization; paper: 3 epochs on states as they are (thesis 8.2.3;"
        " Adam is our guess)",
    )
    add = functools.partial(_add_setting, parser)
    add("epochs", types.positive, "passes over the training set; at most, but for paper")
    add("grid", types.items(types.number(0, 1e6, above=True)), "values of C; held-out accuracy chooses one")
    add("gradient-norm", types.number(0, 1, above=True), "largest derivative at which a classifier is done")
    add("patience", types.positive, "passes without a lower held-out loss")
    add("lr", types.number(0, 100, above=True), "learning rate of Adam")
    add("batch-size", types.positive, "sentences per batch")
    add("seeds", types.items(types.seed), "of the initialization; the other protocols do not depend on it")


def _add_setting(parser, name: str, kind, text: str) -> None:
    """An option that some protocols have; its default is theirs."""
    default = default_of(name.replace("-", "_"))
    parser.add_argument(f"--{name}", type=kind, help=f"{text} ({default})")


def default_of(setting: str) -> str:
    """The defaults of a setting, for the help of its option."""
    values = {name: getattr(protocol, setting) for name, protocol in PROTOCOLS.items()}
    known = {name: value for name, value in values.items() if value is not None}
    return ", ".join(
        f"{name}: {','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in known.items()
    )


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
