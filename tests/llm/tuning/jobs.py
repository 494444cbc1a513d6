"""What the tests tune: options as on the command line, and instructions in memory."""

from pathlib import Path

from command_line.option_classes import from_arguments
from llm.tuning.options import Tuning
from tests.our_commands import parse_command


def tuning_job(model: Path, *words, instructions: Path = Path("instructions")) -> Tuning:
    """The job of `llm tune` with these options."""
    given = ("--model", model, "--instructions", instructions, "--output", "out", "--cpu")
    small = ("--loader-workers", 0, "--batch-sentences", 2, "--epochs", 1)
    command = ("python", "-m", "llm", "tune", *given, *small, *words)
    return from_arguments(Tuning, parse_command([str(word) for word in command]))


def toy_records(count: int = 8) -> list[dict]:
    """Every question has another answer, of another length."""
    words = ("house", "tree dog", "garden", "water bread bird", "school", "child river", "dog", "bird tree")
    return [{"input": f"Say {chr(97 + number)}:", "output": words[number % 8]} for number in range(count)]
