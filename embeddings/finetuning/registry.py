"""The tasks that an encoder can be fine-tuned for, by name."""

from embeddings.finetuning.answers import Answers
from embeddings.finetuning.names import Names
from embeddings.finetuning.pairs import Pairs
from embeddings.finetuning.task import Task

TASKS: dict[str, Task] = {task.name: task for task in (Pairs(), Answers(), Names())}
