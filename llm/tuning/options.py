"""The options of `python -m llm tune`."""

from argparse import ArgumentTypeError
from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, output_folder, switch
from command_line.options import OptionType, shown
from llm.instructions.tasks import TASKS
from llm.language_model import PRECISIONS
from llm.tuned import TUNING

Curriculum = list[list[str]]
VALIDATION = "validation.json"  # of a stage


def _curriculum(text: str) -> Curriculum:
    stages = [[task.strip() for task in stage.split("+")] for stage in text.split(",")]
    for stage in stages:
        for task in stage:
            if task not in TASKS:
                raise ArgumentTypeError(
                    f"found {shown(task)}, expected some of {', '.join(TASKS)}, joined by +"
                )
        if len(stage) > len(set(stage)):
            raise ArgumentTypeError(f"found {shown('+'.join(stage))}, expected every objective once")
    return stages


CURRICULUM = OptionType("objectives joined by +, stages separated by commas", _curriculum)


@dataclass(frozen=True)
class Lora:
    """Low-rank adaptation (Hu et al. 2021; thesis 6.3.2)."""

    lora_rank: int = option("of the adapter; 0 trains all weights", 8, type=types.natural)
    lora_alpha: float = option("over the rank, its scale", 32, type=types.number(0, 1e6, above=True))
    lora_dropout: float = option("of what it reads", 0.1, type=types.number(0, 1, below=True))
    lora_modules: list[str] | None = option(
        "layers with adapters (default: those that peft has for the architecture)",
        type=types.items(types.text),
        metavar="NAME,…",
    )

    def __post_init__(self):
        if self.lora_modules and not self.lora_rank:
            raise InputError(
                "--lora-modules: are of adapters, and --lora-rank 0 has none; leave out one of them"
            )


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What is tuned, on what, and how long."""

    model: Path = option("causal language model of transformers", required=True, metavar="DIR")
    instructions: list[Path] = option(
        "the output of `llm instruct`; several, where objectives lie in different folders",
        required=True,
        metavar="DIR",
    )
    curriculum: Curriculum = option(
        "mt: the baseline MTInstruct; mt+align: several objectives at once; align,mt: one stage after"
        " the other; mt+align,mt: mixed fine-tuning (default: mt+align)",
        [["mt", "align"]],
        type=CURRICULUM,
        metavar="TASK+…,…",
    )
    lora: Lora
    epochs: int = option("of every stage", 5)
    batch_sentences: int = option("of a device (thesis: 4 for 7b1, else 8)", 8)
    batches_per_update: int = option(
        "of every device; the thesis has 128 devices, or 32 for three languages", 1
    )
    learning_rate: list[float] = option(
        "the highest; of several the one with the lowest validation loss is kept, as in the thesis,"
        " which does not say which (default: 3e-4)",
        [3e-4],
        type=types.items(types.number(0, 1, above=True)),
        metavar="RATE,…",
    )
    warmup_ratio: float = option("of the updates", 0.03, type=types.number(0, 1, below=True))
    max_input: int = option("tokens of a question", 384)
    max_output: int = option("tokens of an answer", 384, type=types.whole_number(2))
    skip_overlong: bool = switch(
        "leave out instructions that are longer than these (default: they lose their ends; the thesis"
        " does not say)"
    )
    valid_instructions: int = option("of each objective, for validation", 2000)
    precision: str = option(
        "of the arithmetic; adapters are float32 in any case (thesis: mixed, on V100s)",
        "float32",
        choices=PRECISIONS,
    )
    gradient_checkpointing: bool = switch("less memory, and a forward pass more")
    seed: int = option("of adapters, of the order of instructions, of dropout", 1, type=types.seed)
    save_updates: int = option("write the state to go on from every so many", 500, compare=False)
    loader_workers: int = option(
        "processes that read ahead, per device", 1, compare=False, type=types.natural
    )
    cpu: bool = switch("do not use a GPU", compare=False)
    output: Path = output_folder(f"stage-N and {TUNING}")
    force: bool = force_switch("begin anew what is done or was begun")
