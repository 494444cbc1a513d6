"""The axes of a training: what an example is, losses, initialization, and which checkpoints are combined."""

from collections.abc import Sequence
from dataclasses import fields

from typing_extensions import TypedDict

from fairseq_ext.axes.axis import Axis, Record, Training, is_sentence_encoder
from fairseq_ext.axes.options import defaults_of, defaults_of_task, option, plain, shown, unusual
from fairseq_ext.criterions.options_of_losses import TRANSLATION, OptionsOfLosses
from fairseq_ext.data.augmentation import AugmentationConfig
from fairseq_ext.data.noising.tasks import parse_mixtures
from fairseq_ext.losses.registry import LOSSES

# --- what a training example is

_PRETRAINING_OPTIONS = ("unify_task_tokens", "inverted_mask", "translation_pairs", "translation_share")


def _example(training: Training) -> dict:
    task = training.cfg.get("task")
    mixtures = option(task, "pretraining_tasks")
    if not mixtures:
        return {}
    return {
        "pretraining_tasks": parse_mixtures(mixtures, "--pretraining-tasks"),
        "pretraining_options": unusual(
            task, defaults_of_task("linguistic_pretraining", *_PRETRAINING_OPTIONS)
        ),
    }


def _example_label(record: Record) -> str:
    """BMASS+BRSS.F (ja) MASS:2+HFSS (en)"""
    mixtures = record.get("pretraining_tasks") or {}
    labels = []
    for language, weights in sorted(mixtures.items()):
        tasks = (name.upper() + (f":{weight:g}" if weight != 1 else "") for name, weight in weights.items())
        labels.append(f"{'+'.join(sorted(tasks))} ({language})")
    return " ".join(labels) + shown(record.get("pretraining_options") or {})


EXAMPLE = Axis(
    "training example",
    {
        "pretraining_tasks": dict[str, dict[str, float]] | None,
        "pretraining_options": dict | None,
    },
    read=_example,
    label=_example_label,
)

# --- sentences

_SENTENCE_OPTIONS = (
    *(field.name for field in fields(AugmentationConfig) if field.name != "word_dictionaries"),  # a path
    "sampling_temperature",  # how often which of them are read
)


def _sentences(training: Training) -> dict:
    options = unusual(training.cfg.get("task"), defaults_of_task("multilingual_nmt", *_SENTENCE_OPTIONS))
    return {"sentence_options": options} if options else {}


SENTENCES = Axis(
    "sentences of a training",
    {"sentence_options": dict | None},
    read=_sentences,
    label=lambda record: shown(record.get("sentence_options") or {}).strip(),
)

# --- pairs that a sentence encoder is trained on

FEW = 4  # pairs that a name spells out
PAIR_OPTIONS = (
    *("pair_budget", "min_tokens", "max_pair_tokens", "first_pairs", "unpaired"),
    *("random_sides", "random_batches"),
)


def _pairs(training: Training) -> dict:
    task = training.cfg.get("task")
    if option(task, "_name") != "sentence_embedding":
        return {}
    pairs = sorted(pair.strip() for pair in str(option(task, "pairs") or "").split(",") if pair.strip())
    fields = {
        "pairs": pairs,
        "pair_options": unusual(task, defaults_of_task("sentence_embedding", *PAIR_OPTIONS)),
    }
    return {field: value for field, value in fields.items() if value}


def _pairs_label(record: Record) -> str:
    """on de-en, fr-en (pair budget 20000); of many pairs only how they are not as usual"""
    pairs, options = record.get("pairs") or [], record.get("pair_options") or {}
    if not pairs or (len(pairs) > FEW and not options):
        return ""
    which = ", ".join(pairs) if len(pairs) <= FEW else f"{len(pairs)} pairs"
    return f"on {which}{shown(options)}"


PAIRS = Axis(
    "pairs of languages",
    {"pairs": list[str] | None, "pair_options": dict | None},
    read=_pairs,
    label=_pairs_label,
)

# --- how long, and how fast


_SCHEDULE = {  # section: options; not how an update's batches are spread over devices
    "optimization": ("lr", "max_update", "max_epoch"),
    "lr_scheduler": ("_name", "warmup_updates", "total_num_update"),
}


def _schedule(training: Training) -> dict:
    schedule = {
        name.removeprefix("_"): plain(option(training.cfg.get(section), name))
        for section, names in _SCHEDULE.items()
        for name in names
    }
    schedule = {name: value for name, value in schedule.items() if value is not None}
    return {"schedule": schedule} if schedule else {}


SCHEDULE = Axis("schedule", {"schedule": dict | None}, read=_schedule, label=lambda record: "")

# --- losses

_TRANSLATIONS = ("cross_entropy", "label_smoothed_cross_entropy", "fused_label_smoothed_cross_entropy")
_USUAL_TRANSLATION = {
    **defaults_of(OptionsOfLosses, "translation_weight", "ignore_prefix_size"),
    "sentence_avg": False,  # of fairseq's section `optimization`
    "label_smoothing": 0.1,  # as in most of our recipes; fairseq's own default is 0
}


def _losses(training: Training) -> dict:
    criterion = training.cfg.get("criterion")
    kind = option(criterion, "_name") or option(criterion, "criterion")
    if kind is None:
        return {}
    names = [TRANSLATION] if kind in _TRANSLATIONS else [kind]
    if kind == "weighted_losses":
        names = [name.strip() for name in str(option(criterion, "losses") or "").split(",") if name.strip()]
    losses = {name: _loss_options(name, kind, criterion) for name in names}
    task = training.cfg.get("task")
    of_task = {
        "alignments": ("word_alignments", option(task, "alignments")),
        "teacher": (
            "teacher",
            training.teacher or option(task, "teacher"),
        ),  # files are called as the user likes
    }
    for chosen, (field, whose) in of_task.items():
        if whose:
            for name in names:
                if name in LOSSES and field in LOSSES[name].batch_fields:
                    losses[name][chosen] = whose
    return {"losses": losses}


def _loss_options(name: str, kind: str, criterion) -> dict:
    if name == TRANSLATION:
        smoothing = 0.0 if kind == "cross_entropy" else option(criterion, "label_smoothing", 0.0)
        section = {key: option(criterion, key, usual) for key, usual in _USUAL_TRANSLATION.items()}
        return unusual(section | {"label_smoothing": smoothing}, _USUAL_TRANSLATION)
    if name not in LOSSES:
        return {}
    return unusual(criterion, defaults_of(LOSSES[name].Options), f"{name}_")


def _losses_label(record: Record) -> str:
    """+word_contrastive (temperature 0.1)"""
    losses = record.get("losses")
    if losses is None:
        return ""
    order = [TRANSLATION, *LOSSES]
    names = sorted(losses, key=lambda name: (order.index(name) if name in order else len(order), name))
    if is_sentence_encoder(record):
        return " ".join(f"+{name}{shown(losses[name])}" for name in names)
    labels = [f"+{name}{shown(losses[name])}" for name in names if name != TRANSLATION]
    if TRANSLATION not in losses:
        labels.append(f"w/o {TRANSLATION}")
    elif losses[TRANSLATION]:
        labels.insert(0, shown(losses[TRANSLATION]).strip())
    return " ".join(labels)


LOSS = Axis("losses", {"losses": dict[str, dict] | None}, read=_losses, label=_losses_label)

# --- initialization


class Initialization(TypedDict, total=False):
    """What a training started from."""

    file: str | None
    sha256: str | None
    new_rows: str | None
    system: dict | None


def _initialization(training: Training) -> dict:
    if training.initialized_from is None:
        return {}
    whose = ("system",) if training.initialized_from.get("system") else ("file", "sha256")
    names = (*whose, "new_rows")
    origin = {name: training.initialized_from.get(name) for name in names}
    return {"initialization": {name: value for name, value in origin.items() if value is not None}}


def _origin_label(origin: Record, record: Record, others: Sequence[Axis]) -> str:
    """What a system changes against the one that it was initialized from."""
    differing = (
        axis.label(origin) or f"usual {axis.name}"
        for axis in others
        if axis.is_known(origin) and axis.choice_of(origin) != axis.choice_of(record)
    )
    return ", ".join(differing)


def initialization(others: Sequence[Axis]) -> Axis:
    """The axis of what a system was initialized from: another system, named by where it differs on the other
    axes, or a file of which nothing else is known.
    """

    def label(record: Record) -> str:
        start = record.get("initialization") or {}
        if origin := start.get("system"):
            labels = [_origin_label(origin, record, others), label(origin)]
            name = ", ".join(filter(None, labels)) or "a system like it"
            rows = {"new_rows": start["new_rows"]} if start.get("new_rows") else {}
            return f"from {name}{shown(rows)}"
        digest = {"sha256": start["sha256"][:8]} if start.get("sha256") else {}
        return f"from {start['file']}{shown(digest)}" if start.get("file") else ""

    return Axis("initialization", {"initialization": Initialization | None}, _initialization, label)


# --- several checkpoints


def _combination(training: Training) -> dict:
    counts = {"averaged": training.averaged, "ensemble": training.ensemble}
    return {name: count for name, count in counts.items() if count > 1}


def _combination_label(record: Record) -> str:
    """ensemble of 4 averages of 5"""
    averaged, ensemble = (record.get(name) or 1 for name in ("averaged", "ensemble"))
    mean = f"average{'s' if ensemble > 1 else ''} of {averaged}" if averaged > 1 else ""
    return f"ensemble of {ensemble} {mean}".strip() if ensemble > 1 else mean


COMBINATION = Axis(
    "combination of checkpoints",
    {"averaged": int | None, "ensemble": int | None},
    read=_combination,
    label=_combination_label,
)
