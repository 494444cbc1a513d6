"""Figures without ink: matplotlib takes most of the time of a report."""

from unittest.mock import MagicMock

PLOTS = "eval.reporting.plots"


def draw_nothing(monkeypatch) -> None:
    """Make figures whose files are empty, until the end of the test."""
    monkeypatch.setattr(f"{PLOTS}._canvas", canvas)
    monkeypatch.setattr(f"{PLOTS}._legend", lambda *parts: None)
    monkeypatch.setattr(f"{PLOTS}.image_files", lambda figure: {"png": b"", "svg": b"", "pdf": b""})


def canvas(width: float, height: float, rows: int = 1, columns: int = 1, shared: bool = True):
    panels = [MagicMock() for _ in range(rows * columns)]
    for panel in panels:
        panel.get_legend_handles_labels.return_value = ([], [])
    return MagicMock(), panels
