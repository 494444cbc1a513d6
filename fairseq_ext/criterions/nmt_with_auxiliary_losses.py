"""What `weighted_losses` was called when the translation loss was a part of every criterion.

Command lines of that time go on to work: `--criterion nmt_with_auxiliary_losses --auxiliary-losses A,B` is
`--criterion weighted_losses --losses translation,A,B`; all other options are the same. So do checkpoints
(`in_todays_words`): fairseq refuses to resume a training whose criterion's class has another name, and
whoever describes a system by the options of its checkpoint would have to know both names.
"""

from dataclasses import dataclass, field
from typing import Any

from fairseq.criterions import FairseqCriterion, register_criterion

from fairseq_ext.criterions.options_of_losses import TRANSLATION, OptionsOfLosses, WeightedLossesConfig
from fairseq_ext.criterions.weighted_losses import WeightedLosses

NAME, CLASS_NAME = "nmt_with_auxiliary_losses", "NmtWithAuxiliaryLosses"
OPTION = "auxiliary_losses"


@dataclass
class NmtWithAuxiliaryLossesConfig(OptionsOfLosses):
    auxiliary_losses: str = field(
        default="", metadata={"help": "A,B is today's --criterion weighted_losses --losses translation,A,B"}
    )


@register_criterion(NAME, dataclass=NmtWithAuxiliaryLossesConfig)
class NmtWithAuxiliaryLosses(FairseqCriterion):
    """Makes a `WeightedLosses` of the options of that time."""

    @classmethod
    def build_criterion(cls, cfg, task) -> WeightedLosses:
        names = OptionsOfLosses.__dataclass_fields__.keys() - {"_name"}
        shared = {name: getattr(cfg, name) for name in names}
        options = WeightedLossesConfig(**shared, losses=_losses(cfg.auxiliary_losses))
        return WeightedLosses.build_criterion(options, task)


def _losses(auxiliary: str | None) -> str:
    return ",".join([TRANSLATION, *filter(None, [auxiliary])])


def in_todays_words(state: Any) -> Any:
    """The contents of a checkpoint with today's criterion in place of that of the former name: a copy.

    Args:
        state: whatever a file holds; nothing is expected of it.
    """
    if not isinstance(state, dict):
        return state
    state = dict(state)
    history, cfg = state.get("optimizer_history"), state.get("cfg")
    if isinstance(history, list):
        state["optimizer_history"] = [_renamed(entry) for entry in history]
    criterion = cfg.get("criterion") if isinstance(cfg, dict) else None
    if isinstance(criterion, dict) and criterion.get("_name") == NAME:
        options = {name: value for name, value in criterion.items() if name not in (OPTION, "criterion")}
        auxiliary = criterion.get(OPTION)
        losses = _losses(auxiliary) if isinstance(auxiliary, str | None) else auxiliary
        state["cfg"] = {**cfg, "criterion": {**options, "_name": "weighted_losses", "losses": losses}}
    return state


def _renamed(entry: Any) -> Any:
    if isinstance(entry, dict) and entry.get("criterion_name") == CLASS_NAME:
        return {**entry, "criterion_name": WeightedLosses.__name__}
    return entry
