"""Paired bootstrap significance of BLEU differences between systems (Koehn, 2004; sacreBLEU's test).

Every system is compared with the first one given (or every pair, with --all-pairs), per direction and over
all supervised and all zero-shot directions concatenated. Folders with the same system name and other seeds
are one system: their outputs for a line are drawn together, so the test is about test sentences, not about
seeds. Reads what `python -m eval score` wrote; the texts are not needed. Pass the JSON file on to `python -m
eval report`, which marks significantly higher scores in bold, as Table 8.2 of the thesis does.
"""

import shlex
import sys
from functools import lru_cache
from itertools import combinations

import numpy as np

from command_line import options
from command_line.errors import InputError
from command_line.outputs import checksum, write_json
from command_line.progress import progress
from eval.results import FORMAT, SCORES, Scores, field, result_file
from eval.significance import add_units, paired_bootstrap
from eval.systems import System, group_systems


def add_arguments(parser) -> None:
    parser.add_argument(
        "systems", nargs="+", type=options.path, metavar="OUT", help="scored folder (or its scores.json)"
    )
    parser.add_argument(
        "--all-pairs", action="store_true", help="compare every two systems, not only with the first"
    )
    parser.add_argument("--samples", type=options.positive, default=1000, help="bootstrap resamples")
    parser.add_argument("--seed", type=options.positive, default=12345, help="of the resampling")
    parser.add_argument(
        "--level",
        type=options.number(0, 1, above=True, below=True),
        default=0.05,
        help="p-value below which a difference is significant",
    )
    parser.add_argument(
        "--output",
        type=options.output_file,
        metavar="FILE.json",
        help="write the comparison there, for the report",
    )


def main(args) -> None:
    scores = [Scores.load(result_file(path, SCORES)) for path in args.systems]
    pairs = pairs_of(group_systems(scores), args.all_pairs)
    tasks = [(pair, group) for pair in pairs for group in groups_to_test(*pair)]
    comparisons = {id(pair): describe(*pair) for pair in pairs}
    for pair, (name, directions) in progress(tasks, len(tasks), "compare", "test"):
        counts = [add_units([rows for d in directions for rows in counts_of(system, d)]) for system in pair]
        result = paired_bootstrap(*counts, samples=args.samples, seed=args.seed).record(args.level)
        section = "directions" if name in directions else "overall"
        comparisons[id(pair)][section][name] = {"directions": len(directions), **result}
    record = {
        "format": FORMAT,
        "kind": "comparison",
        "test": "Paired bootstrap resampling of BLEU (Koehn, 2004), sacreBLEU",
        "samples": args.samples,
        "seed": args.seed,
        "level": args.level,
        "comparisons": list(comparisons.values()),
        "inputs": [{"path": str(one.path), "sha256": checksum(one.path)} for one in scores],
        "command": shlex.join(["python", "-m", "eval", *sys.argv[1:]]),
    }
    print("\n\n".join(table(comparison, args.level) for comparison in record["comparisons"]))
    if args.output:
        write_json(args.output, record)


def pairs_of(systems: list[System], all_pairs: bool) -> list[tuple[System, System]]:
    """The pairs (baseline, system) to compare, within each dataset."""
    datasets: dict[str, list[System]] = {}
    for system in systems:
        datasets.setdefault(system.dataset, []).append(system)
    pairs = []
    for dataset, members in datasets.items():
        if len(members) < 2:
            raise InputError(
                f"{members[0].runs[0].path}: {members[0].name!r} is the only system on {dataset}, expected at"
                " least two (folders with the same system name are seeds of one system)"
            )
        pairs += combinations(members, 2) if all_pairs else [(members[0], other) for other in members[1:]]
    for pair in pairs:
        check_comparable(*pair)
    return pairs


def check_comparable(baseline: System, system: System) -> None:
    """Both systems translated the same lines and were scored in the same way; else an `InputError`."""
    first, others = baseline.runs[0], (*baseline.runs[1:], *system.runs)
    if not set(baseline.directions()) & set(system.directions()):
        raise InputError(f"{first.path} and {others[-1].path}: no direction in common")
    for run in others:
        for direction in set(first.directions) & set(run.directions):
            for name in ("reference_sha256", "bleu_signature"):
                values = [field(one.directions[direction], name, str, one.path) for one in (first, run)]
                if values[0] != values[1]:
                    raise InputError(
                        f"{run.path}: direction {direction}: {name} is {values[1]},"
                        f" but {values[0]} in {first.path}"
                    )


def groups_to_test(baseline: System, system: System) -> list[tuple[str, list[str]]]:
    """Name and directions of every test: each common direction alone, all supervised, all zero-shot."""
    common = [direction for direction in baseline.directions() if direction in system.directions()]
    groups = [(direction, [direction]) for direction in common]
    for kind in ("supervised", "zero-shot"):
        members = [direction for direction in common if direction in baseline.directions(kind)]
        groups += [(kind, members)] if members else []
    return groups


def counts_of(system: System, direction: str) -> list[np.ndarray]:
    """BLEU's counts per line, one array (lines x 10) per seed."""
    return [load_counts(run)[direction] for run in system.runs]


@lru_cache
def load_counts(run: Scores) -> dict[str, np.ndarray]:
    """Counts of all directions of one scored folder: direction -> lines x 10; checked against its
    scores.json.
    """
    path = run.folder / field(run.record, "scoring.statistics.file", str, run.path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; python -m eval score --force writes it again")
    if checksum(path) != field(run.record, "scoring.statistics.sha256", str, run.path):
        raise InputError(f"{path}: is not the file that {run.path} was written with (SHA-256 differs)")
    with np.load(path) as stored:
        return {direction: stored[direction] for direction in run.directions}


def describe(baseline: System, system: System) -> dict:
    return {
        "dataset": baseline.dataset,
        "baseline": baseline.name,
        "system": system.name,
        "seeds": {"baseline": baseline.seeds, "system": system.seeds},
        "overall": {},
        "directions": {},
    }


def table(comparison: dict, level: float) -> str:
    """One comparison as text: `*` marks significant differences."""
    lines = [
        f"{comparison['dataset']}: {comparison['system']} against {comparison['baseline']}"
        f" (* significant, p < {level})",
        f"{'':<12}{'baseline':>9}{'system':>9}{'difference':>12}{'p':>8}",
    ]
    for name, result in {**comparison["overall"], **comparison["directions"]}.items():
        star = " *" if result["significant"] else ""
        lines.append(
            f"{name:<12}{result['baseline']:>9.1f}{result['system']:>9.1f}{result['difference']:>+12.1f}"
            f"{result['p_value']:>8.3f}{star}"
        )
    return "\n".join(lines)
