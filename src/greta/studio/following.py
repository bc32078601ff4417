"""A running stream's output directory → charts and the latest rows, read as it grows.

Each Parquet file is read once, when it is complete; files that cannot be read yet are tried again. Only the
newest rows are kept, so memory does not grow with the stream. ``_greta/progress.jsonl`` in the directory or
beside it, one JSON object per trigger and one for the end, gives throughput, lag and late events; ``query.greta`` there
says which columns are groups and which aggregates. A directory that is not there yet is waited for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from greta.errors import DataError, GretaError
from greta.lang.nodes import Query, ReturnAttribute, ReturnValue
from greta.lang.parser import parse
from greta.studio.charts import chart
from greta.studio.results import shown

_ROWS_KEPT = 200_000
_FILES_PER_LOOK = 500
_STATUS_BYTES = 1 << 17
QUIET_SECONDS = 60.0
"""A stream that was not heard of for longer may be idle, or gone: the page says since when."""
_LATEST = 12
_STATUS = ("events_per_second", "batch_seconds", "lag_seconds", "open_windows", "state_bytes", "late_events")


class Follower:
    """One directory, looked at again and again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.rows: pa.Table | None = None
        self.total = 0
        self._read: set[Path] = set()
        self._newest_file: float | None = None

    def look(self, column: str | None) -> dict[str, Any]:
        """Read what is new and describe what is there; ``column`` is the aggregate to chart."""
        unreadable = self._read_new() if self.directory.is_dir() else []
        triggers = self._triggers()
        query = self._query()
        answer: dict[str, Any] = {
            "directory": str(self.directory),
            "files": len(self._read),
            "unreadable": unreadable,
            "total": self.total,
            "kept": 0 if self.rows is None else len(self.rows),
            "status": _figures(triggers),
            "query": None if query is None else query.text,
            **self._state(triggers),
        }
        if self.rows is None:
            return answer
        groups, aggregates = self._columns(query)
        if not aggregates:
            return answer
        shown_column = column if column is not None and column in aggregates else aggregates[0]
        return answer | {
            "aggregates": aggregates,
            "groups": groups,
            "chart": chart(self.rows, shown_column, groups, _slide(query)),
            "columns": self.rows.column_names,
            "latest": _latest(self.rows),
        }

    def _read_new(self) -> list[str]:
        """Take in new files, oldest name first; returns the names of those that cannot be read yet."""
        unreadable, parts = [], [] if self.rows is None else [self.rows]
        for path in sorted(self._files() - self._read)[:_FILES_PER_LOOK]:
            try:
                part = pyarrow.parquet.read_table(path, partitioning=None)
            except (pa.ArrowException, OSError):
                unreadable.append(path.name)
                continue
            self._read.add(path)
            self._newest_file = max(self._newest_file or 0.0, path.stat().st_mtime)
            if part.column_names[:2] != ["window_start", "window_end"]:
                raise DataError(
                    f"{path.name}: the columns are {', '.join(part.column_names[:6])}, not those of a result",
                    hint="follow the directory that greta stream writes: window_start, window_end, …",
                )
            self.total += len(part)
            parts.append(part)
        if parts:
            self.rows = _newest(pa.concat_tables(parts, promote_options="permissive"))
        return unreadable[:5]

    def _files(self) -> set[Path]:
        hidden = ("_", ".")
        return {
            path
            for path in self.directory.rglob("*.parquet")
            if not any(part.startswith(hidden) for part in path.relative_to(self.directory).parts)
        }

    def _state(self, triggers: list[dict[str, Any]]) -> dict[str, Any]:
        """Whether the stream is awaited, live, quiet or ended; and when it was last heard of, in seconds since 1970."""
        if not self.directory.is_dir():
            return {"state": "awaited", "updated": None}
        moments = [_moment(trigger.get("time")) for trigger in triggers[-1:]]
        moments.append(self._newest_file)
        updated = max((moment for moment in moments if moment is not None), default=None)
        if triggers and "ended" in triggers[-1]:
            return {"state": "failed" if triggers[-1]["ended"] == "failed" else "ended", "updated": updated}
        if updated is None:
            return {"state": "live", "updated": None}
        return {"state": "live" if time.time() - updated < QUIET_SECONDS else "quiet", "updated": updated}

    def _query(self) -> Query | None:
        """The query beside the rows, if there is one that can be read."""
        for place in self._status_places():
            try:
                return parse((place / "query.greta").read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, GretaError):
                continue
        return None

    def _columns(self, query: Query | None) -> tuple[list[str], list[str]]:
        """Groups and aggregates, as the query beside the rows has them.

        Without a query that fits the rows, the columns before the first floating-point one are taken for groups.
        """
        assert self.rows is not None
        # Whether a row is final is neither.
        names: list[str] = [name for name in self.rows.column_names[2:] if name != "final"]
        if query is not None:
            groups = [p.name for p in query.returns if isinstance(p, ReturnAttribute)]
            aggregates = [p.name for p in query.returns if isinstance(p, ReturnValue)]
            if {*groups, *aggregates} <= set(names):
                return groups, aggregates
        floating = [i for i, name in enumerate(names) if pa.types.is_floating(self.rows.schema.field(name).type)]
        cut = floating[0] if floating else max(len(names) - 1, 0)
        return names[:cut], names[cut:]

    def _status_places(self) -> tuple[Path, Path]:
        return self.directory / "_greta", self.directory.parent / "_greta"

    def _triggers(self) -> list[dict[str, Any]]:
        return next((lines for place in self._status_places() if (lines := list(_triggers(place)))), [])


_followers: dict[str, Follower] = {}


def follow(directory: str, column: str | None = None) -> dict[str, Any]:
    """Look at a directory; what was read before is remembered by this process."""
    follower = _followers.setdefault(directory, Follower(Path(directory)))
    return follower.look(column)


def _figures(triggers: list[dict[str, Any]]) -> dict[str, Any]:
    """The last triggers: per field of the status file a list of values, None where one is missing."""
    told = [trigger for trigger in triggers if "ended" not in trigger]
    return {"time": [trigger.get("time") for trigger in told]} | {
        name: [_finite(trigger.get(name)) for trigger in told] for name in _STATUS
    }


def _slide(query: Query | None) -> float | None:
    return None if query is None or query.window is None else query.window.slide.milliseconds / 1_000


def _moment(text: object) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None


def _newest(rows: pa.Table) -> pa.Table:
    if len(rows) <= _ROWS_KEPT:
        return rows
    order = pc.sort_indices(rows, sort_keys=[("window_start", "ascending")])
    return rows.take(order[-_ROWS_KEPT // 2 :])


def _latest(rows: pa.Table) -> list[list[object]]:
    order = pc.sort_indices(rows, sort_keys=[("window_start", "descending")])
    newest = rows.take(order[:_LATEST])
    return [[shown(value) for value in row] for row in zip(*(c.to_pylist() for c in newest.columns), strict=True)]


def _triggers(place: Path) -> Iterator[dict[str, Any]]:
    """Whole lines at the end of the status file; a line that is being written is passed over."""
    try:
        with (place / "progress.jsonl").open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _STATUS_BYTES))
            text = file.read()
    except OSError:
        return
    for line in text.split(b"\n"):
        try:
            trigger = json.loads(line)
        except ValueError:
            continue
        if isinstance(trigger, dict):
            yield trigger


def _finite(value: object) -> float | None:
    return value if isinstance(value, int | float) and abs(value) < 1e300 else None
