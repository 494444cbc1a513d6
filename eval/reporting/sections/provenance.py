"""Where the numbers come from: checkpoints, seeds, commands, signatures, versions, checksums."""

from eval.labels import UNKNOWN
from eval.reporting.exhibits import Section, Table, cells
from eval.result_set import ResultSet
from eval.scored import Scores


def section(results: ResultSet) -> Section:
    runs = [run for system in results.systems for run in system.runs]
    parts = [
        run_table(runs),
        signatures(runs),
        settings(runs),
        commands(runs),
        checksums(runs),
        inputs(results),
    ]
    return Section("Provenance", parts)


def run_table(runs: list[Scores]) -> Table:
    header = [
        "Dataset",
        "System",
        "Seed",
        "Checkpoint",
        "SHA-256",
        "Epoch",
        "Updates",
        "Valid. loss",
        "Split",
        "Beam",
    ]
    rows = []
    for run in runs:
        checkpoint = run.record.get("checkpoint") or {}
        values = [
            *(run.dataset, run.name, run.seed, checkpoint.get("path"), _short(checkpoint.get("sha256"))),
            *(checkpoint.get(name) for name in ("epoch", "updates", "best_valid_loss")),
            *(run.record["split"], run.record.get("beam")),
        ]
        rows.append(cells(*map(_shown, values)))
    return Table("runs", "Evaluated checkpoints.", [cells(*header)], rows)


def signatures(runs: list[Scores]) -> Table:
    """One row per signature with the target languages it was used for."""
    languages: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for direction, entry in run.directions.items():
            for metric, name in (("BLEU", "bleu_signature"), ("chrF++", "chrf_signature")):
                languages.setdefault((metric, entry[name]), set()).add(direction.split("-")[1])
    rows = [
        cells(metric, ", ".join(sorted(codes)), one) for (metric, one), codes in sorted(languages.items())
    ]
    for kind, name in (("Language identification", "identifier"), ("COMET", "comet_model")):
        found = sorted({str(value) for run in runs if (value := run.record["scoring"].get(name))})
        rows += [cells(kind, "all", value) for value in found]
    return Table(
        "signatures",
        "Metrics and their signatures.",
        [cells("Metric", "Target languages", "Signature")],
        rows,
    )


def settings(runs: list[Scores]) -> Table:
    """The fields of every system, and versions of translating and scoring."""
    rows = []
    for run in runs:
        fields = {key: value for key, value in run.system.items() if key not in ("name", "seed")}
        versions = (run.record.get("versions") or {}) | run.record["scoring"]["versions"]
        rows.append(cells(run.dataset, run.name, _shown(run.seed), _pairs(fields), _pairs(versions)))
    header = [cells("Dataset", "System", "Seed", "Settings", "Versions")]
    return Table("settings", "Settings and versions.", header, rows, folded=True)


def commands(runs: list[Scores]) -> Table:
    rows = []
    for run in runs:
        for command in (run.record.get("command"), run.record["scoring"]["command"]):
            rows.append(cells(run.dataset, run.name, _shown(run.seed), _shown(command)))
    return Table("commands", "Commands.", [cells("Dataset", "System", "Seed", "Command")], rows, folded=True)


def checksums(runs: list[Scores]) -> Table:
    """SHA-256 of dictionary and references per dataset."""
    found: dict[tuple[str, str, str], None] = {}
    for run in runs:
        found[run.dataset, "dictionary", _shown(run.record["data"].get("dictionary_sha256"))] = None
        for direction, entry in run.directions.items():
            found[run.dataset, f"references of {direction}", entry["reference_sha256"]] = None
    header = [cells("Dataset", "File", "SHA-256")]
    return Table("checksums", "Data checksums.", header, [cells(*row) for row in found], folded=True)


def inputs(results: ResultSet) -> Table:
    rows = [cells(*row) for row in results.sources()]
    return Table(
        "inputs", "Result files of this report.", [cells("Kind", "File", "SHA-256")], rows, folded=True
    )


def _shown(value) -> str:
    return UNKNOWN if value is None else str(value)


def _short(checksum: str | None) -> str | None:
    return checksum and checksum[:12]


def _pairs(values: dict) -> str:
    return ", ".join(f"{key} {'none' if value in ('', None) else value}" for key, value in values.items())
