"""`--eval-bleu-args` of the task multilingual_nmt."""

import pytest

from command_line.errors import InputError
from fairseq_ext.tasks.validation import generation_options


def test_options_of_generation():
    assert vars(generation_options('{"beam": 4, "lenpen": 0.6}')) == {"beam": 4, "lenpen": 0.6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"), ("{", "not JSON"), ("[]", "found a list, expected an object"),
        ("3", "expected an object"),
        ('{"beem": 4}', "no option 'beem'"), ('{"beam": "x"}', "beam is 'x', expected an integer"),
        ('{"beam": [4]}', r"beam is \[4\], expected an integer"), ('{"beam": 0}', "beam is 0, expected"),
        ('{"lenpen": NaN}', "NaN"), ('{"beam": 1, "beam": 2}', "occurs twice"),
    ],
)  # fmt: skip
def test_what_is_none(text, message):
    with pytest.raises(InputError, match=f"--eval-bleu-args.*{message}"):
        generation_options(text)
