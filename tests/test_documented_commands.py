"""Every command of the README and the guides: run as it stands (`tests/stories`), or listed with a reason.

Blocks of Python are commands, too. All commands are understood by their parsers.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.documented_commands import PAGES, ROOT, Command, commands_of_block, inline, shown
from tests.made_once import made_once
from tests.our_commands import parse_command
from tests.recipes.commands import recipe
from tests.stories import materials
from tests.stories.pages import STORIES
from tests.stories.story import lay_out
from tests.test_readme import FAIRSEQ_PARSERS, parse_fairseq

# Pages whose commands a test of their own runs as they stand.
RUN_BY = {
    "docs/embeddings.md": "tests/embeddings/test_guide.py",
    "docs/python.md": "tests/eval/test_api.py",
}
# What no story runs as it stands: page, how the commands begin (a regular expression), why.
NOT_RUN = (
    (
        "README.md",
        "make quickstart",
        "minutes; as `bash recipes/quickstart/run.sh` of docs/evaluation.md, which is run",
    ),
    ("README.md", "make test", "runs the tests themselves"),
    ("docs/data_preparation.md", "python -m data_prep download (opus100|mtdata)", "needs the network"),
    ("docs/data_preparation.md", ".* --from-folder /data/", "stands for the reader's own copy of a corpus"),
    ("docs/data_preparation.md", ".* ja=jumanpp", "needs the program Juman++"),
    (
        "docs/losses.md",
        "from dataclasses|import torch",
        "the files of a new loss; as tests/integration/test_adding.py adds them",
    ),
    ("docs/evaluation.md", "python3.11 -m venv|comet-env/bin/pip", "installs from the network"),
    ("docs/evaluation.md", ".* --comet-model Unbabel", "needs a model to download"),
    ("docs/linguistic_pretraining.md", ".* --dask", "needs a cluster"),
    ("docs/one_pair.md", ".* (new-tatoeba Tatoeba-Challenge|--tatoeba new-tatoeba)", "needs the network"),
    (
        "docs/translating.md",
        "fairseq-generate .* --path example/for_fairseq/",
        "stock fairseq warns of its libraries; as tests/fairseq_ext/export/test_fairseq.py runs it",
    ),
    # The recipe of each page is run from text to report in its small configuration, in the story of its name.
    ("recipes/README.md", ".* --config own.sh", "24 models; the README has two of them, which are trained"),
    ("recipes/README.md", ".* --plan 1e14", "as tests/recipes/test_plan.py runs it"),
    (
        "recipes/README.md",
        ".* --launcher slurm",
        "needs Slurm; by tests/recipes/test_launching.py with programs in its place",
    ),
    (
        r"recipes/\w+/README.md",
        ".* --config (opus|iwslt|europarl|bloomz|ems|lealla|tatoeba_challenge|xlm_r|aspec-ja-en|news-en-ko)",
        "days, on GPUs",
    ),
    (
        "recipes/interlingua/README.md",
        ".* --config phrasebook",
        "an hour of a core, and a pipeline to download; the start of its stages by "
        "tests/recipes/test_interlingua_recipe.py",
    ),
    (
        "recipes/zero_shot/README.md|docs/performance.md",
        "bash .* --config l10n",
        "hours; its data is no download",
    ),
    (
        "recipes/post_pretraining/README.md",
        ".* --systems ppa-250k,no-moco-250k",
        "days, on GPUs; the story of the page runs three of these systems",
    ),
    (
        "recipes/crosslingual_evaluation/README.md",
        ".* --seeds 1 --launcher gpu",
        "hours, on a GPU; the story of the page runs these encoders",
    ),
    ("recipes/word_contrastive/README.md", ".* --config enja", "needs the network, and GPUs"),
    ("docs/probes.md", ".* combination", "four systems; as tests/eval/probes/test_combination.py runs it"),
    (
        "docs/transfer.md",
        "python -m data_prep xnli-manual",
        "as tests/data_prep/test_xnli_manual.py runs it: the story's files are too small to be cut",
    ),
    ("docs/claims.md", "python -m studies", "as tests/studies/test_claims.py runs them"),
    (r"docs/results/.*", "bash recipes/", "hours; the numbers on the page are theirs"),
)
SHOWN = shown()


def reasons(command: Command) -> list[tuple]:
    return [
        entry
        for entry in NOT_RUN
        if re.fullmatch(entry[0], command.page) and re.match(entry[1], command.text)
    ]


def stories_of(command: Command) -> list[str]:
    return [name for name, story in STORIES.items() if story.tells(command)]


NOT_RUN_COMMANDS = [command for command in SHOWN if reasons(command)]
DRY_RUNS = sorted(
    {
        found
        for page in PAGES
        for found in re.findall(
            r"bash (recipes/\w+/run\.sh[^\"`\n]*)", (ROOT / page).read_text(encoding="utf-8")
        )
    }
)


def test_every_page_is_read():
    assert len(SHOWN) > 80
    assert {"README.md", "docs/probes.md", "recipes/zero_shot/README.md"} <= {one.page for one in SHOWN}


def test_a_command_is_run_or_listed_with_a_reason():
    unknown = [
        str(one) for one in SHOWN if not reasons(one) and not stories_of(one) and one.page not in RUN_BY
    ]
    assert unknown == [], "commands that no test runs; add their page to a story, or a reason to the list"


def test_a_loop_is_run_as_the_page_shows_it():
    block = (
        "for one in a b; do\n  bash $one &&\\\n  make two  # both\ndone\npython -m eval report […]\nmake c"
    )
    assert commands_of_block("page", block) == [
        Command("page", "bash $one", "for one in a b"),
        Command("page", "make two", "for one in a b"),
        Command("page", "make c"),
    ]
    assert (
        Command("page", "bash $one", "for one in a b").as_shell("bash x") == "for one in a b; do bash x; done"
    )
    assert Command("page", "make c").as_shell("make d") == "make d"


def test_a_block_of_python_is_one_command():
    block = "for name in names:\n    print(name)\n"
    (command,) = commands_of_block("page", block, "python")
    assert subprocess.run(
        ["bash", "-c", command.as_shell("names = ['a', 'b']\n" + block)], capture_output=True, text=True
    ).stdout.split() == ["a", "b"]


def test_a_command_is_run_once():
    twice = [str(one) for one in SHOWN if len(stories_of(one)) + (one.page in RUN_BY) > 1]
    assert twice == []


def test_every_reason_is_needed():
    used = {entry for command in NOT_RUN_COMMANDS for entry in reasons(command)}
    assert used == set(NOT_RUN)


def test_the_tests_that_are_named_read_their_page():
    for page, test in RUN_BY.items():
        assert f'"{page}"' in (ROOT / test).read_text(encoding="utf-8")
    for _, _, reason in NOT_RUN:
        assert all((ROOT / test).exists() for test in re.findall(r"tests/[\w/]+\.py", reason))


@pytest.mark.parametrize("command", SHOWN, ids=lambda one: str(one)[:80])
def test_a_command_is_understood(command):
    if command.is_python:
        compile(command.text, command.page, "exec")
        return
    words = command.words
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.M)
    elif words[:2] == ["python", "-m"]:
        parse_command(words)
    elif words[0] in FAIRSEQ_PARSERS:
        parse_fairseq(words[0], words[1:])
    elif words[0] in ("bash", "sbatch", "…"):
        assert any(run in command.text for run in DRY_RUNS) or words[0] == "…"
    else:
        assert words[0] in ("python3.11", "comet-env/bin/pip") or words[:2] == ["python", "moved.py"]


@pytest.mark.parametrize("command", [run for run in DRY_RUNS if "--plan" not in run])  # it has its own tests
def test_a_recipe_command_is_understood(command, tmp_path):
    materials.write_own_settings(tmp_path)
    command = command.replace("--config own.sh", f"--config {tmp_path}/own.sh")
    own, dashes, of_training = command.partition(" -- ")
    if "--output" not in own:
        own += f" --output {tmp_path}"
    if "--seeds" not in own and "quickstart" not in own:
        own += " --seeds 1"
    _, name, _, options = re.split(r"[/ ]", own, maxsplit=3)
    words = shlex.split(f"{options} --dry-run {dashes} {of_training}")
    done = recipe(name, *words, cwd=ROOT)
    if "--finished-only" in words:  # of trainings that are not there
        assert done.returncode == 2
        assert f"{tmp_path}/models: no such folder" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert done.stdout or "no checkpoints, no learning curve" in done.stderr


@pytest.mark.parametrize(
    "command", sorted({code for page in PAGES for code in inline((ROOT / page).read_text(encoding="utf-8"))})
)
def test_commands_within_sentences_exist(command):
    """`python -m eval score`, with or without the step and its options."""
    words = command.replace("…", "").split()
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.M)
    elif words[0] == "bash":
        assert (ROOT / words[1]).exists()
    elif words[:2] == ["python", "-m"] and words[2].startswith(("benchmarks.", "studies.")):
        if len(words) > 3:
            parse_command([word.replace("ARCH", "tiny") for word in words])
        assert (ROOT / f"{words[2].replace('.', '/')}.py").exists()
    elif words[1:3] != ["-m", "spacy"]:
        package, *rest = words[2:] if words[0] == "python" else words[1:]
        assert (ROOT / package / "__main__.py").exists() or package == "user-dir"
        if rest and rest[0] != "STEP":
            assert f'"{rest[0]}"' in (ROOT / package / "__main__.py").read_text(encoding="utf-8")


def test_pages_that_name_a_pipeline_of_spacy_say_what_it_is():
    for page in [*PAGES, "recipes/jass_enss/run.sh"]:
        text = (ROOT / page).read_text(encoding="utf-8")
        if "en_core_web_sm" in text:
            assert "python -m spacy download en_core_web_sm" in text, page


@pytest.mark.parametrize("name", STORIES)
def test_a_story_has_the_commands_that_it_prepares_or_replaces(name):
    commands = [command for command in STORIES[name].in_order(SHOWN) if not reasons(command)]
    assert STORIES[name].script(commands)


@pytest.fixture
def told(tmp_path_factory, programs):
    """`told(name)` is the folder of a story, whose commands run once."""

    def folder_of(name: str) -> Path:
        return made_once(tmp_path_factory, f"story-{name}", lambda folder: tell(name, folder))

    def tell(name: str, folder: Path) -> None:
        story = STORIES[name]
        if story.after:
            shutil.copytree(folder_of(story.after), folder, symlinks=True, dirs_exist_ok=True)
        else:
            lay_out(folder)
        story.materials(folder)
        commands = [command for command in story.in_order(SHOWN) if not reasons(command)]
        path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            ["bash", "-c", story.script(commands)],
            cwd=folder, env={**os.environ, **path}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        for word in ("Traceback", "tensorboardX", "hydra", "Warning:"):
            assert [line for line in done.stderr.splitlines() if word in line] == []

    return folder_of


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "first_steps" else pytest.mark.slow) for name in STORIES]
)
def test_commands_run_as_they_stand(name, told):
    for result in STORIES[name].results:
        assert (told(name) / result).stat().st_size > 200, result
