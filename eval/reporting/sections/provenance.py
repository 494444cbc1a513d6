"""Where the numbers come from: checkpoints, seeds, commands, signatures, versions, checksums."""

from collections.abc import Iterable, Iterator

from eval.labels import UNKNOWN
from eval.reporting.exhibits import Section, Table, cells
from eval.result_set import ResultSet
from eval.scored import Scores

SYSTEM = ("Dataset", "System", "Seed")
OF_CHECKPOINT = ("epoch", "updates", "best_valid_loss")


def section(results: ResultSet) -> Section:
    runs = [run for system in results.systems for run in system.runs]
    evaluated = (*SYSTEM, "Checkpoint", "SHA-256", "Epoch", "Updates", "Valid. loss", "Split", "Beam")
    metrics = ("Metric", "Target languages", "Signature")
    tables = [
        _table("runs", "Evaluated checkpoints.", evaluated, map(checkpoint, runs)),
        _table("signatures", "Metrics and their signatures.", metrics, signatures(runs)),
        _table(
            "settings", "Settings and versions.", (*SYSTEM, "Settings", "Versions"), map(settings, runs), True
        ),
        _table("commands", "Commands.", (*SYSTEM, "Command"), commands(runs), True),
        _table("checksums", "Data checksums.", ("Dataset", "File", "SHA-256"), checksums(runs), True),
        _table(
            "inputs", "Result files of this report.", ("Kind", "File", "SHA-256"), results.sources(), True
        ),
    ]
    return Section("Provenance", tables)


def _table(name: str, caption: str, titles: tuple, rows: Iterable[Iterable], folded: bool = False) -> Table:
    shown = [cells(*(UNKNOWN if value is None else value for value in row)) for row in rows]
    return Table(name, caption, [cells(*titles)], shown, folded=folded)


def _system(run: Scores) -> tuple:
    return run.dataset, run.name, run.seed


def checkpoint(run: Scores) -> list:
    sha256 = run.value("checkpoint", "sha256")
    of_training = [run.value("checkpoint", name) for name in OF_CHECKPOINT]
    path = run.value("checkpoint", "path")
    return [*_system(run), path, sha256 and sha256[:12], *of_training, run.record["split"], run.value("beam")]


def signatures(runs: list[Scores]) -> Iterator[tuple]:
    """The signatures of metrics, each with the target languages that it was used for; the identifier and
    COMET's model.
    """
    languages: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for direction, entry in run.directions.items():
            for metric, name in (("BLEU", "bleu_signature"), ("chrF++", "chrf_signature")):
                languages.setdefault((metric, entry[name]), set()).add(direction.split("-")[1])
    for (metric, signature), codes in sorted(languages.items()):
        yield metric, ", ".join(sorted(codes)), signature
    for kind, name in (("Language identification", "identifier"), ("COMET", "comet_model")):
        for value in sorted({str(value) for run in runs if (value := run.record["scoring"].get(name))}):
            yield kind, "all", value


def settings(run: Scores) -> tuple:
    """The fields of a system, and versions of translating and scoring."""
    versions = (run.record.get("versions") or {}) | run.record["scoring"]["versions"]
    return *_system(run), _pairs(run.settings), _pairs(versions)


def commands(runs: list[Scores]) -> Iterator[tuple]:
    for run in runs:
        for command in (run.record.get("command"), run.record["scoring"]["command"]):
            yield *_system(run), command


def checksums(runs: list[Scores]) -> Iterable[tuple]:
    """SHA-256 of dictionary and references per dataset."""
    files: dict[tuple, None] = {}
    for run in runs:
        files[run.dataset, "dictionary", run.record["data"].get("dictionary_sha256")] = None
        for direction, entry in run.directions.items():
            files[run.dataset, f"references of {direction}", entry["reference_sha256"]] = None
    return files


def _pairs(values: dict) -> str:
    return ", ".join(f"{key} {'none' if value in ('', None) else value}" for key, value in values.items())
