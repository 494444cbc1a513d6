"""How a language model is asked for a translation: the prompts of Table D.2.

`source` and `target` are the names of languages, `text` is the sentence. The answer follows a space.
"""

DEFAULT = "default"
PROMPTS = {
    DEFAULT: "Translate from {source} to {target}.\n{source}: {text}\n{target}:",
    "1": "{source}: {text}\n{target}:",
    "2": "{text}\n{target}:",
    "3": "Translate to {target}.\n{source}: {text}\n{target}:",
    "4": "Translate from {source} to {target}.\n{text}\n{target}:",
    "5": "Translate to {target}.\n{text}\n{target}:",
}
