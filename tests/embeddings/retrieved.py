"""What `python -m embeddings retrieve` leaves behind, for tests to ask."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from embeddings.retrieve import KIND
from tests.eval.rows import by_name, rows_of


@dataclass(frozen=True)
class RetrievalResult:
    """The result in a folder."""

    folder: Path

    @property
    def record(self) -> dict:
        return json.loads((self.folder / f"{KIND}.json").read_text())

    @property
    def run(self) -> dict:
        (run,) = self.record["runs"]
        return run

    def of_directions(self, measure: str, similarity: str = "") -> dict[str, float]:
        return by_name(self.folder / f"{KIND}.csv", "direction", measure=measure, part=similarity)

    def p_at_1(self, similarity: str = "cosine") -> dict[str, float]:
        return self.of_directions("p_at_1", similarity)

    def average(self, similarity: str = "cosine") -> float:
        return float(np.mean(list(self.p_at_1(similarity).values())))

    @property
    def directions(self) -> set[str]:
        return set(self.run["texts"])

    @property
    def similarities(self) -> set[str]:
        return set(rows_of(self.folder / f"{KIND}.csv", measure="p_at_1").part)

    @property
    def counts(self) -> set[tuple[float, float]]:
        """Queries and candidates of all directions."""
        lines, candidates = (self.of_directions(measure) for measure in ("lines", "candidates"))
        return {(lines[name], candidates[name]) for name in lines}

    def hits(self, direction: str, similarity: str = "cosine") -> list[bool]:
        with np.load(self.folder / f"{KIND}.npz") as stored:
            return stored[f"{similarity}/{direction}"].tolist()

    def smaller(self, measure: str = "smaller_p_at_1") -> dict[str, float]:
        """Of smaller vectors, by their names."""
        return by_name(self.folder / f"{KIND}.csv", "part", measure=measure)

    def of_encoder(self) -> dict[str, float]:
        """Its sizes."""
        return by_name(self.folder / f"{KIND}.csv", "measure", direction="", part="")

    def everything(self, similarity: str | None = None) -> dict:
        """All that was found in directions, by one similarity or by all."""
        rows = rows_of(self.folder / f"{KIND}.csv")
        rows = rows[(rows.direction != "") & ((rows.part == similarity) | (similarity is None))]
        keys = rows[["direction", "part", "measure"]].itertuples(index=False)
        with np.load(self.folder / f"{KIND}.npz") as stored:
            hits = {name: stored[name].tolist() for name in stored if name.startswith(similarity or "")}
        texts = self.run["texts"] if similarity is None else {}
        return dict(zip(map(tuple, keys), rows.value, strict=True)) | hits | texts
