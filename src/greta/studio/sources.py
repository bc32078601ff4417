"""Where events come from: a sample, or an uploaded file with its column mapping.

The page names a source as ``{"sample": name}`` or ``{"path": ..., "time": ..., "time_unit": ..., "type": ...,
"event_type": ...}``; the server fills in ``path`` from the identifier of an upload. Only the first block of a
file is read to look at it; running a query reads it whole, in Arrow's memory.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from greta import datasets
from greta.datasets.files import format_of
from greta.engine.tables import attribute_type
from greta.errors import DataError
from greta.plan.nodes import AttributeType
from greta.studio import samples
from greta.studio.charts import attribute_lines

_HEAD_ROWS = 1_000
_HEAD_BYTES = 1 << 20
_TYPES_SHOWN = 40
_TIME_NAMES = ("time", "timestamp", "ts", "event_time", "datetime", "date")
_TYPE_NAMES = ("type", "event_type", "event", "kind")
_EPOCH_UNITS = (("ns", 1e17), ("us", 1e14), ("ms", 1e11), ("s", 1e9))
"""Smallest number that is taken for a count from the epoch in that unit: the year 2001 in seconds, …"""


def load(source: Mapping[str, Any]) -> pa.Table:
    """All events of a source, as ``greta.aggregate`` takes them."""
    if "sample" in source:
        return samples.events(_sample(source))
    path = Path(source["path"])
    with _own_name(path):
        return datasets.load(
            path,
            time=source.get("time") or "time",
            time_unit=source.get("time_unit") or None,
            type_column=source.get("type") or "type",
            event_type=source.get("event_type") or None,
        )


def schema(source: Mapping[str, Any]) -> dict[str, AttributeType]:
    """The attributes that a query over the source may use, judged by the first block of a file."""
    if "sample" in source:
        fields = samples.events(_sample(source)).schema
        named = [(field.name, field.type) for field in fields]
    else:
        taken = {source.get("time"), source.get("type")}
        head = _head(Path(source["path"]))
        named = [(field.name, field.type) for field in head.schema if field.name not in taken]
        named += [("time", pa.timestamp("us")), ("type", pa.string())]
    kinds = {name: attribute_type(kind) for name, kind in named}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def types(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Event types and how many events have each, the most frequent first; of a file, those of its first block."""
    if "sample" in source:
        column = samples.events(_sample(source)).column("type")
    elif not source.get("type"):
        return [{"name": source.get("event_type") or "", "events": None}]
    else:
        head = _head(Path(source["path"]))
        if source["type"] not in head.column_names:
            return []
        column = head.column(source["type"])
    counts = sorted(pc.value_counts(column).to_pylist(), key=lambda each: -each["counts"])
    whole = "sample" in source
    return [
        {"name": str(each["values"]), "events": each["counts"] if whole else None}
        for each in counts[:_TYPES_SHOWN]
        if each["values"] is not None
    ]


def outline(source: Mapping[str, Any]) -> dict[str, Any]:
    """Columns, number of events and first rows of a sample."""
    events = samples.events(_sample(source))
    return {
        "columns": _columns(events.schema),
        "rows": [[_shown(value) for value in row.values()] for row in events.slice(0, 5).to_pylist()],
        "events": len(events),
    }


@lru_cache(maxsize=1)
def _kept(source: str) -> pa.Table:
    return load(json.loads(source))


def kept(source: Mapping[str, Any]) -> pa.Table:
    """All events of a source; those of the last one asked for are kept."""
    return _kept(json.dumps(source, sort_keys=True))


def attribute(source: Mapping[str, Any], attribute: str, by: list[str], groups: list[str]) -> dict[str, Any]:
    """A numeric attribute of the events over time, a line per value of ``by``, with its values of ``groups``."""
    events = kept(source)
    for name in (attribute, *by, *groups):
        if name not in events.column_names:
            raise DataError(f"there is no column {name}", hint=f"the columns are {', '.join(events.column_names)}")
    return attribute_lines(events, attribute, by, groups)


def inspect(path: str) -> dict[str, Any]:
    """Columns, a few rows and a guess at the mapping of an uploaded file."""
    file = Path(path)
    head = _head(file)
    if not head.column_names:
        raise DataError(f"{file.name}: there are no columns", hint="a CSV file begins with a line of column names")
    return {
        "columns": _columns(head.schema),
        "rows": [[_shown(value) for value in row.values()] for row in head.slice(0, 5).to_pylist()],
        "guess": _guess(head),
    }


def _columns(schema: pa.Schema) -> list[dict[str, str]]:
    kinds = [(field.name, attribute_type(field.type)) for field in schema]
    return [{"name": name, "kind": kind.value if kind else "unused"} for name, kind in kinds]


def _sample(source: Mapping[str, Any]) -> str:
    name = source["sample"]
    if not isinstance(name, str) or name not in samples.SAMPLES:
        raise DataError(f"there is no sample {name!r}", hint=f"choose one of {', '.join(samples.SAMPLES)}")
    return name


def _head(path: Path) -> pa.Table:
    with _own_name(path):
        match format_of(path):
            case "parquet":
                file = pyarrow.parquet.ParquetFile(path)
                batches = file.iter_batches(batch_size=_HEAD_ROWS)
                first = next(batches, None)
                return pa.Table.from_batches([first] if first is not None else [], file.schema_arrow)
            case "csv":
                reader = pyarrow.csv.open_csv(path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))
                first = next(iter(reader), None)
                return pa.Table.from_batches([first] if first is not None else [], reader.schema)
            case "jsonl":
                with path.open("rb") as lines:
                    text = lines.read(_HEAD_BYTES)
                if len(text) == _HEAD_BYTES:
                    text = text[: text.rfind(b"\n") + 1]
                return pyarrow.json.read_json(io.BytesIO(text))


@contextmanager
def _own_name(path: Path) -> Iterator[None]:
    """Errors speak of the file as its owner calls it, not of where the studio keeps it."""
    try:
        yield
    except DataError as error:
        raise error.reworded({f"{path.parent}/": ""}) from error
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        said = str(error).replace(f"{path.parent}/", "").partition("\n")[0]
        raise DataError(
            f"{path.name}: cannot be read: {said}",
            hint="is it what its ending says? CSV needs a header and UTF-8, JSON one object per line",
        ) from error


def _guess(head: pa.Table) -> dict[str, Any]:
    by_name = {name.lower(): name for name in reversed(head.column_names)}
    stamps = [field.name for field in head.schema if pa.types.is_timestamp(field.type)]
    time = next((by_name[name] for name in _TIME_NAMES if name in by_name), None)
    time = time or next(iter(stamps), None) or head.column_names[0]
    type_ = next((by_name[name] for name in _TYPE_NAMES if name in by_name and by_name[name] != time), None)
    return {"time": time, "time_unit": _unit(head.column(time)), "type": type_}


def _unit(column: pa.ChunkedArray) -> str | None:
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if not numeric or column.null_count == len(column):
        return None
    least = float(pc.min(column).as_py())
    return next((unit for unit, bound in _EPOCH_UNITS if least >= bound), None)


def _shown(value: object) -> str | None:
    return None if value is None else str(value)[:80]
