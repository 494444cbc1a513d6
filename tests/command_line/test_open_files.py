"""The limit of open files."""

import resource
import subprocess
import sys

from tests.recipes.commands import ROOT

SHOW = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"


def limits_after(code: str, soft: int, hard: int) -> list[int]:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    words = [sys.executable, "-c", f"{code}; {SHOW}"]
    done = subprocess.run(words, cwd=ROOT, preexec_fn=limited, capture_output=True, text=True, check=True)
    return list(map(int, done.stdout.split()))


def test_the_soft_limit_is_raised_as_far_as_the_system_lets():
    code = "from command_line.open_files import allow_many; allow_many()"
    assert limits_after(code, 256, 500) == [500, 500]
    assert limits_after(code, 300, 300) == [300, 300]
    assert limits_after("pass", 256, 500) == [256, 500]


def test_every_command_has_it():
    code = (
        "from command_line.dispatch import run; from data_prep import __main__ as steps; "
        "run('data_prep', steps.DESCRIPTION, steps.STEPS, ['clean', '--input', '/no', '--output', '/no'])"
    )
    assert limits_after(code, 256, 500) == [500, 500]
