"""The chat template of a model: a text in the language of Jinja, which comes with a stranger's folder.

It is rendered by `transformers` in Jinja's `ImmutableSandboxedEnvironment`: it reads the messages that it is
given, and neither calls Python nor opens files.
"""

from collections.abc import Sequence
from pathlib import Path

from command_line.errors import InputError
from command_line.options import shown
from data_prep.model_folders.folder import ModelFolder
from data_prep.model_folders.settings import TOKENIZER

TEMPLATE = "chat_template.jinja"
FIELD = "chat_template"  # of tokenizer_config.json, where older folders have it
OPTION = "--model"
ROLES = ("user", "assistant")


def read_chat_template(path: Path) -> str:
    """The template in the folder of a model."""
    folder = ModelFolder(path, OPTION)
    if target := folder.find(TEMPLATE):
        try:
            return target.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{path / TEMPLATE}: not UTF-8 text; expected a template of chats") from None
    template = (folder.read(TOKENIZER) or {}).get(FIELD)
    if isinstance(template, list):  # of several, by their names
        named = [each for each in template if isinstance(each, dict) and each.get("name") == "default"]
        template = named[0].get("template") if named else None
    if template is None:
        raise InputError(
            f"--chat: {OPTION} {path}: no chat template ({TEMPLATE}, or {FIELD!r} of {TOKENIZER}); give"
            " another model, or leave out --chat"
        )
    if not isinstance(template, str):
        raise InputError(f"{path / TOKENIZER}: field {FIELD!r} is {shown(template):.80}; expected a text")
    return template


class Chat:
    """Renders chats for a model."""

    def __init__(self, tokenizer, path: Path):
        self.tokenizer, self.path = tokenizer, path
        self.template = read_chat_template(path)
        self.special = sorted(filter(None, map(str, tokenizer.added_tokens_encoder)), key=len, reverse=True)

    def __call__(self, turns: Sequence[str]) -> str:
        """The prompt for the next answer, with the special tokens of the template.

        Args:
            turns: questions and answers, beginning and ending with a question. A special token that one
                spells gets a space in it, so that no text ends a turn.
        """
        messages = [
            {"role": ROLES[number % 2], "content": self._plain(turn)} for number, turn in enumerate(turns)
        ]
        try:
            return self.tokenizer.apply_chat_template(
                messages, chat_template=self.template, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # of whatever kind: the template is a program of its writer
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"{OPTION} {self.path}: its chat template cannot be rendered: {first:.200}"
            ) from None

    def _plain(self, text: str) -> str:
        for token in self.special:
            if len(token) > 1:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text
