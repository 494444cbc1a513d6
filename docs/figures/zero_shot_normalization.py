"""Draw zero-shot BLEU of every run, by placement of layer normalization, from the numbers of docs/results.

python docs/figures/zero_shot_normalization.py docs/figures/zero_shot_normalization.svg
"""

import csv
import sys
from pathlib import Path
from statistics import mean

from matplotlib import pyplot as plt

DATA = Path(__file__).parents[1] / "results/data"
PLACEMENTS = {"1": "PreNorm", "2": "PostNorm", "swap-prenorm": "Swap-PreNorm"}
SHARED_SEEDS = {"110", "120", "130", "140", "150"}  # Swap-PreNorm was trained with these alone
PANELS = (
    ("zero_shot_phrasebook.csv", "templated text: 20 directions, five seeds", SHARED_SEEDS),
    ("zero_shot_l10n.csv", "real text: 6 directions, three seeds", {"10", "20", "30"}),
)


def zero_shot_bleu(file: str, seeds: set[str]) -> dict[str, list[float]]:
    """Placement -> BLEU of its runs, the mean over zero-shot directions, one number per seed."""
    bleu = {}
    with (DATA / file).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            is_mean = row["kind"] == "zero-shot" and row["direction"].startswith("mean of")
            if row["system"] in PLACEMENTS and row["seed"] in seeds and is_mean and row["measure"] == "BLEU":
                bleu.setdefault(PLACEMENTS[row["system"]], []).append(float(row["value"]))
    return bleu


def draw(output: Path) -> None:
    plt.rcParams["svg.hashsalt"] = "zero-shot"  # the same numbers give the same file
    figure, panels = plt.subplots(1, 2, figsize=(8, 3), width_ratios=(3, 2), layout="constrained")
    for panel, (file, title, seeds) in zip(panels, PANELS, strict=True):
        bleu = zero_shot_bleu(file, seeds)
        for position, values in enumerate(bleu.values()):
            panel.bar(position, mean(values), width=0.6, color="#9db8d9")
            panel.plot([position] * len(values), values, "o", color="#1f3d63", markersize=4, alpha=0.8)
        panel.set_xticks(range(len(bleu)), bleu)
        panel.set_title(title, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("zero-shot BLEU")
    figure.savefig(output, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
