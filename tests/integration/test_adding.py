"""The map of CONTRIBUTING.md: a loss, tags, a norm, a probe, a corpus and a recipe are added to a copy.

What each addition costs stands here: a file, and the lines that register it. Nothing else is edited.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import hanging
from tests.documented_commands import shown
from tests.integration.commands import REPOSITORY
from tests.integration.training import training

pytestmark = pytest.mark.slow

FOLDERS = (
    "multilingual_nmt",
    "command_line",
    "data_prep",
    "fairseq_ext",
    "embeddings",
    "eval",
    "recipes",
)

LOSS, TEST_OF_LOSS = [one.text for one in shown() if one.page == "docs/losses.md" and one.is_python]
FILES = {
    # a loss and its test: as docs/losses.md shows them
    "fairseq_ext/losses/small_states.py": LOSS,
    "tests/fairseq_ext/test_small_states.py": TEST_OF_LOSS,
    # a probe: the number of lines of a log
    "eval/probes/log_length.py": '''
"""Length of training logs, in lines."""

from dataclasses import dataclass
from pathlib import Path

from command_line.measurements import Measured, numbers
from command_line.option_classes import positional
from eval.reporting.result_file import Written, publish

KIND = "log-length"


@dataclass(frozen=True, kw_only=True)
class LengthOptions:
    logs: list[Path] = positional("logs of trainings", nargs="+")
    written: Written


def main(options: LengthOptions) -> None:
    publish(KIND, options, options.logs, lambda: measure(options), options.written)


def measure(options: LengthOptions) -> Measured:
    measured = Measured()
    for path in options.logs:
        run = {"system": {"name": path.stem}, "dataset": "logs"}
        measured.add(run, numbers({"lines_of_log": len(path.read_text().splitlines())}))
    return measured
''',
    # a corpus: two lines in two languages
    "data_prep/corpora/proverbs.py": '''
"""Two proverbs."""

from data_prep.corpora.corpus import BitextRows, Corpus
from data_prep.formats.texts import TEST, TRAIN, VALID


def read(source, languages, centric):
    for split in (TRAIN, VALID, TEST):
        rows = [("Ende gut, alles gut.", "All is well that ends well.")]
        yield BitextRows(split, "de-en", iter(rows))


CORPUS = Corpus("two proverbs", ("de", "en"), read)
''',
    # a recipe: a table, a configuration, a script
    "recipes/small_states/systems.sh": """
MODEL=(--arch "$ARCHITECTURE" --dropout "$DROPOUT" --criterion weighted_losses)
system plain '' "plain" "${MODEL[@]}"
system small '' "small states" "${MODEL[@]}" --losses translation,small_states
""",
    "recipes/small_states/configs/tiny.sh": """
CORPUS=proverbs
LANGUAGES=(de en)
MERGES=100
ARCHITECTURE=mnmt_transformer_tiny
DROPOUT=0.1
LEARNING_RATE=1e-3
EPOCHS=1
BATCH_GPUS=1
""",
    "recipes/small_states/run.sh": """
#!/usr/bin/env bash
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$HERE/../shared/experiment.sh"
source "$HERE/../shared/translation.sh"
RECIPE=small_states TITLE="Small states"
ALL_STAGES="prepare train translate score report"
usage() {
  cat << END
usage: bash recipes/small_states/run.sh --config NAME [options]

  --config NAME       tiny
  --systems LIST      of plain, small
$(help_of experiment comet training force plan all)
END
}
stage_prepare() {
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text"
  run python -m data_prep subword --merges "$MERGES" --input "$OUTPUT/text" --output "$OUTPUT/subword"
  run python -m data_prep binarize --input "$OUTPUT/subword" --text "$OUTPUT/text" --output "$DATA"
}
stage_train() {
  train_systems train_system
}
train_system() {
  set_training_options "$1"
  train fairseq-train "$DATA" --save-dir "$OUTPUT/models/$(model_name "$@")" --seed "$2" \\
    --task multilingual_nmt --lang-pairs "$PAIRS" --lr "$LEARNING_RATE" --max-epoch "$EPOCHS" \\
    --batches-per-update "$BATCH_GPUS" "${OPTIONS[@]}"
}
stage_translate() {
  for_each_model_at_once translate
}
translate() {
  set_evaluated "$@"
  run python -m eval translate "${EVALUATED[@]}" --output "$OUTPUT/translations/$(model_name "$@")"
}
stage_score() {
  score
}
stage_report() {
  report "$OUTPUT" "$TITLE: $NAME" "${#SYSTEM_IDS[@]}" "${FOLDERS[@]}"
}
experiment "$@"
""",
}
LINES = {  # file -> (a line of it, what is put in front of that line)
    "fairseq_ext/losses/registry.py": [
        (
            "from fairseq_ext.losses.weighted_loss",
            "from fairseq_ext.losses.small_states import SmallStates\n",
        ),
        ("        WordContrastive,", "        SmallStates,\n"),
    ],
    "fairseq_ext/modules/residual_block.py": [
        ('    "pre": NormPlacement', '    "none": NormPlacement("NoNorm", "x+F(x)", True, _pre),\n'),
    ],
    "fairseq_ext/data/language_tags.py": [
        ('    "t-enc": TagPlacement', '    "t-both": TagPlacement("T-BOTH", ("target",), decoder=True),\n'),
    ],
    "eval/report.toml": [
        (
            '[[section]]\nkind = "llr"',
            '[[section]]\nkind = "log-length"\ntitle = "Length of logs"\nshows = [{ view = "measures",'
            ' name = "log-length", caption = "Lines of each log",'
            ' columns = [{ measure = "lines_of_log", title = "lines", digits = 0 }] }]\n\n',
        ),
    ],
    "eval/probes/__init__.py": [
        ('    "states": (', '    "log-length": ("eval.probes.log_length", "…"),\n'),
    ],
    "data_prep/corpora/__init__.py": [
        ("from data_prep.corpora.corpus", "from data_prep.corpora import proverbs\n"),
        ('    "enja"', '    "proverbs": proverbs.CORPUS,\n'),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the project with the additions."""
    root = tmp_path_factory.mktemp("copy")
    for folder in FOLDERS:
        shutil.copytree(REPOSITORY / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.lstrip("\n"))
    for name, additions in LINES.items():
        text = (root / name).read_text()
        for before, added in additions:
            assert text.count(f"\n{before}") == 1, (name, before)
            text = text.replace(f"\n{before}", f"\n{added}{before}")
        (root / name).write_text(text)
    return root


def run(copy: Path, *words) -> str:
    """Standard output of a command in the copy."""
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(
        list(map(str, words)),
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=hanging.SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def python(copy: Path, module: str, *words) -> str:
    return run(copy, sys.executable, "-m", module, *words)


def test_a_loss_a_norm_and_tags_train_translate_and_are_named(copy, data, tmp_path):
    arguments = training(
        data, tmp_path, "--user-dir", copy / "fairseq_ext", "--norm-placement", "none",
        "--language-tags", "t-both", "--criterion", "weighted_losses", "--losses", "translation,small_states",
        "--max-update", 2,
    )  # fmt: skip
    assert '"small_states"' in python(copy, "fairseq_cli.train", *arguments)
    python(
        copy, "eval", "translate", "--checkpoint", tmp_path / "checkpoint_best.pt", "--data", data,
        "--directions", "de-en", "--cpu", "--max-len-b", 10, "--output", tmp_path / "out",
    )  # fmt: skip
    name = json.loads((tmp_path / "out/translate.json").read_text())["system"]["name"]
    assert "NoNorm" in name and "T-BOTH" in name and "small_states" in name.replace(" ", "_").lower()


def test_the_test_of_the_loss_passes(copy):
    assert "1 passed" in python(
        copy, "pytest", "-p", "no:cacheprovider", "tests/fairseq_ext/test_small_states.py"
    )


def test_a_probe_is_a_command_and_a_section_of_the_report(copy, tmp_path):
    assert "log-length" in python(copy, "eval", "probe", "--help")
    (tmp_path / "train.log").write_text("one\ntwo\n")
    python(copy, "eval", "probe", "log-length", tmp_path / "train.log", "--output", tmp_path)
    python(copy, "eval", "report", tmp_path / "log-length.json", "--output", tmp_path / "report")
    assert "Length of logs" in (tmp_path / "report/report.md").read_text()


def test_a_corpus_is_laid_out(copy, tmp_path):
    assert "two proverbs" in python(copy, "data_prep", "download", "--help")
    python(copy, "data_prep", "download", "proverbs", "--output", tmp_path / "text")
    assert (tmp_path / "text/train.de-en.de").read_text() == "Ende gut, alles gut.\n"


def test_a_recipe_plans_its_commands(copy):
    planned = run(
        copy, "bash", "recipes/small_states/run.sh", "--config", "tiny", "--seeds", "1", "--dry-run"
    )
    trainings = [line for line in planned.splitlines() if "fairseq-train" in line]
    assert ["--losses translation,small_states" in line for line in trainings] == [False, True]
    assert "data_prep download proverbs" in planned
