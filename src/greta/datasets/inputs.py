"""An input of a command, by its name → the local files behind it. Loads nothing that takes time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greta.datasets.loaders import TimeUnit

ENDINGS = (".parquet", ".csv", ".json", ".jsonl", ".ndjson")
"""Of files that are read in this process."""


@dataclass(frozen=True, slots=True)
class Input:
    """A path or table with events, and the type of its events where it holds only one."""

    path: str
    event_type: str | None = None

    @staticmethod
    def parse(text: str) -> Input:
        """``stock/*.parquet``, or ``Stock=stock/*.parquet``.

        >>> Input.parse("Stock=trades.csv")
        Input(path='trades.csv', event_type='Stock')
        """
        name, equals, path = text.partition("=")
        if equals and name.isidentifier() and path:
            return Input(path, name)
        return Input(text)

    @property
    def is_remote(self) -> bool:
        """Whether a file system is named that only Spark knows."""
        return "://" in self.path

    def files(self) -> list[Path]:
        """The local files: one, those of a directory that are not hidden, or those that a pattern names."""
        if self.is_remote:
            return []
        path = Path(self.path)
        if path.is_dir():
            return sorted(file for file in path.iterdir() if file.name[0] not in "._")
        if path.exists():
            return [path]
        return sorted(Path(name) for name in glob(self.path))  # noqa: PTH207 - a pattern may be absolute

    def at(self, path: Path) -> Input:
        """The same events in another place."""
        return replace(self, path=str(path))


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the inputs are read: the time, the type, and attributes, under their own names."""

    time: str
    type: str
    attributes: tuple[str, ...]
    time_unit: TimeUnit | None = None
