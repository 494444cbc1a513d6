"""The language model that is evaluated: as it is, or with what it was taught; and what tables call it."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from command_line.errors import InputError
from command_line.option_classes import option, switch
from command_line.provenance import command_typed, versions
from data_prep.formats.directions import DIRECTIONS, Direction, format_direction
from data_prep.model_folders.adapters import check_adapter
from data_prep.model_folders.loading import check_ids
from eval.result_files import checkpoint_checksum, split_direction
from llm.instructions.prompts import DEFAULT
from llm.language_model import PRECISIONS, add_adapter, load_model, load_tokenizer, model_files
from llm.tuned import TUNING, Tuned

UNTUNED = "w/o fine-tuning"


@dataclass(frozen=True)
class PromptedModel:
    """Which model, how it computes, and what it is called."""

    model: Path = option("causal language model of transformers", required=True, metavar="DIR")
    tuned: Path | None = option(
        "the output of `llm tune`, or an adapter of peft (default: the model as it is)", metavar="DIR"
    )
    supervised: list[str] | None = option(
        "directions that are called supervised; all others are zero-shot (default: those of --tuned)",
        type=DIRECTIONS,
        metavar="A-B,…",
    )
    precision: str = option("of weights and arithmetic", "float32", choices=PRECISIONS)
    spread: bool = switch("put the layers on all GPUs, for models larger than one", compare=False)
    name: str | None = option("name of the system in tables (default: of model and curriculum)")
    cpu: bool = switch("do not use a GPU", compare=False)

    def __post_init__(self):
        if self.spread and self.cpu:
            raise InputError("--spread: puts layers on GPUs, which --cpu does not use; leave out one of them")

    @cached_property
    def _record(self) -> Tuned | None:
        return Tuned.load(self.tuned) if self.tuned and (self.tuned / TUNING).exists() else None

    @property
    def adapter(self) -> Path | None:
        """The folder of the adapter, if there is one."""
        record = self._record
        if record is None:
            return self.tuned
        return record.last_stage if record.is_adapter else None

    @property
    def weights(self) -> Path:
        """The folder of the model that an adapter is added to."""
        record = self._record
        return self.model if record is None or record.is_adapter else record.last_stage

    def folders(self) -> set[Path]:
        """Those of model and adapter, which are read whole: results in them would be taken for a part."""
        return {folder for folder in (self.model, self.weights, self.adapter) if folder}

    def taught(self) -> set[tuple[str, str]]:
        """The directions that it was taught."""
        record = self._record
        taught = record.record["directions"] if record and self.supervised is None else self.supervised or []
        return {split_direction(name, TUNING) for name in taught}

    def warn_of_unknown(self, directions: Iterable[Direction], sets: str) -> None:
        """A line on standard error if --supervised has directions, misspelled ones perhaps, without a set.

        Args:
            sets: which, and where, such as "test set in DATA/text".
        """
        having = {format_direction(direction) for direction in directions}
        if missing := [direction for direction in self.supervised or [] if direction not in having]:
            print(
                f"warning: --supervised: {', '.join(missing)}: no {sets}, which has"
                f" {', '.join(sorted(having))}",
                file=sys.stderr,
            )

    def languages(self) -> dict[str, str]:
        """Code -> name of the languages that it was taught."""
        record = self._record
        return record.record["languages"] if record else {}

    def system(self, prompt: str) -> dict:
        """The record of the system in result files."""
        record = self._record
        if record:
            taught, seed = record.record["curriculum"], record.record["settings"]["seed"]
        else:
            taught, seed = (self.tuned.resolve().name if self.tuned else UNTUNED), None
        base = self.model.resolve().name
        asked = "" if prompt == DEFAULT else f", prompt {prompt}"
        return {
            "name": self.name or f"{base} {taught}{asked}",
            "seed": seed,
            "language_model": base,
            "instructions": taught,
            "lora_rank": record and record.record["settings"]["lora_rank"],
            "prompt": prompt,
        }

    def provenance(self, prompt: str) -> dict:
        """What a result says of its model."""
        folder = self.adapter or self.weights
        return {
            "system": self.system(prompt),
            "checkpoint": {"path": str(folder), "sha256": checkpoint_checksum(folder)},
            "precision": self.precision,
            "command": command_typed("llm"),
            "versions": versions("torch", "transformers", "peft", "tokenizers", "sacrebleu"),
        }

    def files(self) -> list[Path]:
        """The files that its output depends on."""
        records = [path for path in (self.tuned and self.tuned / TUNING,) if path and path.is_file()]
        adapter = check_adapter(self.adapter).paths() if self.adapter else []
        return [*records, *model_files(self.weights), *adapter]

    def load(self):
        """The model in evaluation mode on its device, and its tokenizer.

        Raises:
            InputError: as `load_model`, `load_tokenizer`, `check_ids`, `add_adapter`, `Tuned.check_model`.
        """
        import torch

        tokenizer = load_tokenizer(self.weights)
        if self._record is not None:
            self._record.check_model(self.model)
        model = load_model(self.weights, self.precision, "auto" if self.spread else None)
        check_ids(tokenizer, model, self.weights)
        if self.adapter:
            # In half precision the float32 product of an adapter is added to the weights in float32 and
            # rounded once, behind the sum; `safe_merge` would round the product before it, too.
            model = add_adapter(model, self.adapter).merge_and_unload(safe_merge=False)
        if not self.spread:
            model = model.to("cuda" if torch.cuda.is_available() and not self.cpu else "cpu")
        return model.eval(), tokenizer
