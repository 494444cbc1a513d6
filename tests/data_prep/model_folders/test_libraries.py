"""What libraries raise over folders that they cannot read, as one line; and what is no fault of a folder."""

import json

import pytest

from command_line.errors import InputError
from data_prep.model_folders.folder import ModelFolder
from data_prep.model_folders.libraries import as_one_line


def test_a_panic_of_tokenizers_is_one_line():
    """Which is no `Exception`; of a table for normalization that is cut off."""
    import tokenizers

    vocabulary = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    table = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    names = ("truncation", "padding", "pre_tokenizer", "post_processor", "decoder")
    settings = dict.fromkeys(names) | {"version": "1.0", "added_tokens": []}
    text = json.dumps(settings | {"normalizer": table, "model": vocabulary})
    with (
        pytest.raises(InputError, match=r"^a: not a model of bert: .*precompiled_charsmap"),
        as_one_line("a", "bert"),
    ):
        tokenizers.Tokenizer.from_str(text)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_ends_the_command_is_no_fault_of_the_folder(error):
    with pytest.raises(error), as_one_line("a", "bert"):
        raise error


def test_an_error_without_words_is_named_by_its_kind():
    with pytest.raises(InputError, match=r"^a: not a model of bert: KeyError$"), as_one_line("a", "bert"):
        raise KeyError


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [(b"IQ== 0\nIg== 1\n", "another reason"), (b"\x00\x01", "tokenizer.model: not a model of sentencepiece")],
)
def test_a_vocabulary_of_tiktoken_is_not_blamed(tmp_path, vocabulary, message):
    (tmp_path / "tokenizer.model").write_bytes(vocabulary)
    folder = ModelFolder(tmp_path, "--model")
    folder.take("tokenizer.model")
    with pytest.raises(InputError, match=message), folder.opened("transformers"):
        raise ValueError("another reason")
