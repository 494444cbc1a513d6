"""The options of `python -m llm tune`."""

from argparse import ArgumentTypeError
from dataclasses import dataclass, field
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.options import OptionType, shown
from llm.instructions.tasks import TASKS
from llm.language_model import PRECISIONS

Curriculum = list[list[str]]
VALIDATION = "validation.json"  # of a stage


@dataclass(frozen=True)
class Lora:
    """Low-rank adaptation (Hu et al. 2021; thesis 6.3.2).

    Attributes:
        lora_rank: 0 trains all weights and no adapter.
        lora_alpha: the update is scaled by alpha / rank.
        lora_modules: names of layers that are adapted; None for those that `peft` has for the architecture
            (of BLOOM: query_key_value).
    """

    lora_rank: int
    lora_alpha: float
    lora_dropout: float
    lora_modules: list[str] | None

    def __post_init__(self):
        if self.lora_modules and not self.lora_rank:
            raise InputError(
                "--lora-modules: are of adapters, and --lora-rank 0 has none; leave out one of them"
            )


@dataclass(frozen=True)
class Tuning:
    """What is tuned, on what, and how long.

    Attributes:
        model: folder of a causal language model of `transformers`.
        instructions: folders of `llm instruct`.
        curriculum: the objectives of every stage; a stage goes on from the one before it.
        epochs: of a stage.
        batch_sentences: instructions of a device's batch; an update has `batches_per_update` of every device.
        learning_rate: with several, every stage is trained with each of them, and the one with the lowest
            validation loss is kept.
        warmup_ratio: share of the updates over which the rate grows; then it falls to 0 linearly.
        max_input, max_output: in tokens; what is longer is cut, or with `skip_overlong` not learned.
        valid_instructions: of each objective, that the validation loss is of.
        save_updates: the state to go on from is written every so many.
    """

    model: Path
    instructions: list[Path]
    curriculum: Curriculum
    lora: Lora
    epochs: int
    batch_sentences: int
    batches_per_update: int
    learning_rate: list[float]
    warmup_ratio: float
    max_input: int
    max_output: int
    skip_overlong: bool
    valid_instructions: int
    precision: str
    gradient_checkpointing: bool
    seed: int
    save_updates: int = field(compare=False)
    loader_workers: int = field(compare=False)
    cpu: bool = field(compare=False)


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


def add_tuning_arguments(parser) -> None:
    """The options of `Tuning`."""
    add = parser.add_argument
    add(
        "--model", required=True, type=types.path, metavar="DIR", help="causal language model of transformers"
    )
    add(
        "--instructions",
        required=True,
        nargs="+",
        type=types.path,
        metavar="DIR",
        help="the output of `llm instruct`; several, where objectives lie in different folders",
    )
    add(
        "--curriculum",
        type=CURRICULUM,
        default=[["mt", "align"]],
        metavar="TASK+…,…",
        help="mt: the baseline MTInstruct; mt+align: several objectives at once; align,mt: one stage after"
        " the other; mt+align,mt: mixed fine-tuning (default: mt+align)",
    )
    add("--lora-rank", type=types.natural, default=8, help="of the adapter; 0 trains all weights")
    add("--lora-alpha", type=types.number(0, 1e6, above=True), default=32, help="over the rank, its scale")
    add("--lora-dropout", type=types.number(0, 1, below=True), default=0.1, help="of what it reads")
    add(
        "--lora-modules",
        type=types.items(types.text),
        metavar="NAME,…",
        help="layers with adapters (default: those that peft has for the architecture)",
    )
    add("--epochs", type=types.positive, default=5, help="of every stage")
    add("--batch-sentences", type=types.positive, default=8, help="of a device (thesis: 4 for 7b1, else 8)")
    add(
        "--batches-per-update",
        type=types.positive,
        default=1,
        help="of every device; the thesis has 128 devices, or 32 for three languages",
    )
    add(
        "--learning-rate",
        type=types.items(types.number(0, 1, above=True)),
        default=[3e-4],
        metavar="RATE,…",
        help="the highest; of several the one with the lowest validation loss is kept, as in the thesis,"
        " which does not say which (default: 3e-4)",
    )
    add("--warmup-ratio", type=types.number(0, 1, below=True), default=0.03, help="of the updates")
    add("--max-input", type=types.positive, default=384, help="tokens of a question")
    add("--max-output", type=types.whole_number(2), default=384, help="tokens of an answer")
    add(
        "--skip-overlong",
        action="store_true",
        help="leave out instructions that are longer than these (default: they lose their ends; the thesis"
        " does not say)",
    )
    add("--valid-instructions", type=types.positive, default=2000, help="of each objective, for validation")
    add(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="of the arithmetic; adapters are float32 in any case (thesis: mixed, on V100s)",
    )
    add("--gradient-checkpointing", action="store_true", help="less memory, and a forward pass more")
    add("--seed", type=types.seed, default=1, help="of adapters, of the order of instructions, of dropout")
    add(
        "--save-updates", type=types.positive, default=500, help="write the state to go on from every so many"
    )
    add("--loader-workers", type=types.natural, default=1, help="processes that read ahead, per device")
    add("--cpu", action="store_true", help="do not use a GPU")
