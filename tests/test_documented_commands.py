"""Every command of the README and the guides: run as it stands, or listed here with a reason. All of them are
understood by their parsers (`--dry-run` of a recipe, the targets of make).
"""

import re
import shlex
import subprocess

import pytest

from tests.documented_commands import PAGES, ROOT, Command, inline, shown
from tests.our_commands import parse_command
from tests.test_readme import FAIRSEQ_PARSERS, parse_fairseq

# Pages whose commands go on from each other in one folder, in this order.
STORIES = {
    "example": (
        "README.md",
        "docs/losses.md",
        "docs/interlingua.md",
        "docs/one_pair.md",
        "docs/distillation.md",
    ),
    "corpus": ("docs/data_preparation.md", "docs/linguistic_pretraining.md"),
}
# What no test runs as it stands: page, how the commands begin (a regular expression), why.
NOT_RUN = (
    ("README.md", "make quickstart", "minutes; in miniature in tests/recipes/test_quickstart.py"),
    ("README.md", "make test", "runs this test"),
    ("docs/data_preparation.md", "python -m data_prep download", "needs the network, or corpora of others"),
    ("docs/data_preparation.md", r".* --(input|output) (enja|own|new)/", "stands for the reader's own text"),
    ("docs/data_preparation.md", ".* alignment-error", "needs a gold standard of others"),
    ("docs/embeddings.md", "", "needs models to download; with a tiny one in tests/embeddings/test_guide.py"),
    ("docs/evaluation.md", ".*OUT", "stands for the reader's own folders"),
    ("docs/evaluation.md", "bash recipes/quickstart", "minutes; as in the README"),
    ("docs/evaluation.md", ".*outputs/quickstart", "goes on from the quickstart"),
    ("docs/evaluation.md", "python3 -m venv|comet-env/bin/pip", "installs from the network"),
    ("docs/export.md", "", "goes on from a training of hours; tiny in tests/fairseq_ext/export"),
    ("docs/interlingua.md", ".* validation-curves", "goes on from trainings of hours"),
    ("docs/linguistic_pretraining.md", ".* --parses ", "needs the output of a parser of others"),
    ("docs/linguistic_pretraining.md", ".* --dask", "needs a cluster"),
    ("docs/linguistic_pretraining.md", ".* pretraining-accuracy", "goes on from trainings of hours"),
    ("docs/linguistic_pretraining.md", ".*(crawl|corpus/samples)", "stands for the reader's own text"),
    ("docs/linguistic_pretraining.md", "python -m eval adequacy", "needs a model to download"),
    ("docs/mbart.md", "", "needs mBART, 5 GB to download; a tiny one in tests/integration/test_mbart.py"),
    ("docs/performance.md", "", "measures time"),
    ("docs/pretrained_encoders.md", "", "a training of hours; a tiny one in tests/embeddings/pretraining"),
    ("docs/probes.md", "", "goes on from trainings of hours; tiny ones in tests/integration/test_probes.py"),
    ("docs/sentence_encoders.md", "", "the paper's size, for a GPU"),
    (r"docs/results/.*", "", "hours"),
    (r"recipes/(\w+/)?README.md", "", "hours, on GPUs; understood with --dry-run"),
)
SHOWN = shown()


def reasons(command: Command) -> list[tuple]:
    return [
        entry
        for entry in NOT_RUN
        if re.fullmatch(entry[0], command.page) and re.match(entry[1], command.text)
    ]


def story_of(command: Command) -> str | None:
    return next((name for name, pages in STORIES.items() if command.page in pages), None)


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
    unknown = [str(one) for one in SHOWN if not reasons(one) and story_of(one) is None]
    assert unknown == [], "commands that no test runs; add their page to a story, or a reason to the list"


def test_every_reason_is_needed():
    used = {entry for command in NOT_RUN_COMMANDS for entry in reasons(command)}
    assert used == set(NOT_RUN)


@pytest.mark.parametrize("command", SHOWN, ids=lambda one: str(one)[:80])
def test_a_command_is_understood(command):
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
        assert words[0] in ("python3", "comet-env/bin/pip") or words[:2] == ["python", "moved.py"]


@pytest.mark.parametrize("command", DRY_RUNS)
def test_a_recipe_command_is_understood(command):
    words = ["bash", *shlex.split(command), "--dry-run"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
    elif words[:2] == ["python", "-m"] and words[2].startswith("benchmarks."):
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


def save_pipeline(folder) -> None:
    """A pipeline whose parser has learnt next to nothing; spaCy takes a folder in place of a package."""
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    pipeline = spacy.blank("en")
    pipeline.add_pipe("parser")
    parse = {"heads": [1, 1, 1], "deps": ["nsubj", "ROOT", "obj"]}
    pipeline.initialize(lambda: [Example.from_dict(pipeline.make_doc("she eats fish"), parse)] * 3)
    pipeline.to_disk(folder)


@pytest.mark.integration
@pytest.mark.parametrize("story", STORIES)
def test_commands_run_as_they_stand(story, tmp_path):
    (tmp_path / "fairseq_ext").symlink_to(ROOT / "fairseq_ext")
    if story == "corpus":
        save_pipeline(tmp_path / "en_core_web_sm")
    pages = STORIES[story]
    commands = [
        command.text for page in pages for command in SHOWN if command.page == page and not reasons(command)
    ]
    script = "\n".join(["set -xeuo pipefail", f"export PYTHONPATH={shlex.quote(str(ROOT))}", *commands])
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    for word in ("tensorboardX", "hydra", "UserWarning"):
        assert [line for line in done.stderr.splitlines() if word in line] == []
    expected = {"example": "example/report/report.html", "corpus": "corpus/finetuned/checkpoint_best.pt"}
    assert (tmp_path / expected[story]).stat().st_size > 1000
