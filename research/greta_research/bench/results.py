"""What was measured: one JSON line per run as it ends, all of it as JSON and Parquet at the end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from greta.errors import DataError

Status = Literal["finished", "did not finish", "implied", "unsupported", "skipped", "failed"]
"""``implied``: not tried, as the strategy had not finished at a smaller size. ``skipped``: not installed."""

LINES = "runs.jsonl"
TABLE = "results.parquet"
WHOLE = "results.json"


@dataclass(frozen=True, slots=True)
class Run:
    """One strategy at one point of an experiment.

    ``seconds`` is the time until the last result, the peak latency as all events are there from the start.
    It is processor time, equal to the clock's on an idle machine, except where Spark and Flink run in processes of
    their own. ``memory`` the peak beyond the input, in bytes, ``check`` the sum of the first aggregate.
    """

    experiment: str
    place: int
    x: str
    events: int
    strategy: str
    status: Status
    reason: str | None = None
    seconds: float | None = None
    memory: int | None = None
    stored: int | None = None
    rows: int | None = None
    check: str | None = None
    repeats: tuple[float, ...] = ()
    limit: float = 0.0
    quick: bool = field(default=False, compare=False)

    @property
    def id(self) -> str:
        """What makes a run the same run."""
        return f"{self.experiment}/{self.x}/{self.strategy}"

    @property
    def throughput(self) -> float | None:
        """Events per second."""
        if self.status != "finished" or not self.seconds:
            return None
        return self.events / self.seconds

    @property
    def unfinished(self) -> bool:
        """Whether the strategy could not do it."""
        return self.status in ("did not finish", "implied", "failed")


def append(directory: Path, run: Run) -> None:
    """Keep a run, so that an interrupted benchmark goes on where it was."""
    with (directory / LINES).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": run.id, **asdict(run)}) + "\n")


def read(directory: Path) -> list[Run]:
    """All runs of a directory; the last one counts where there are several of one id."""
    file = directory / LINES
    if not file.exists():
        return []
    found: dict[str, Run] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            values: dict[str, Any] = json.loads(line)
            name = values.pop("id")
            found[name] = Run(**values | {"repeats": tuple(values["repeats"])})
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{file}:{number}: not a run of this version of greta", hint="start anew with --fresh"
            ) from error
    return list(found.values())


def write(directory: Path, runs: Iterable[Run], about: dict[str, Any]) -> None:
    """Everything in one JSON file and one Parquet file, with commit, versions and machine."""
    rows = [{**asdict(run), "repeats": list(run.repeats), "throughput": run.throughput} for run in runs]
    (directory / WHOLE).write_text(json.dumps({"about": about, "runs": rows}, indent=1) + "\n", encoding="utf-8")
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"about": json.dumps(about)})
    pq.write_table(table, directory / TABLE)
