"""Event files and how they are written: Arrow batches in, Parquet, CSV or JSON lines out.

A file appears under its name only when it is complete: it is written under a hidden name beside it, which
Spark's and most other readers pass over, and then renamed.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from greta.errors import DataError, did_you_mean

Format = Literal["parquet", "csv", "jsonl"]
Progress = Callable[[int], None]
"""Told the number of events written so far, now and then."""

_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_ROW_GROUP = 1 << 19
"""Rows that are gathered before they go to a Parquet file together."""


def write(
    batches: pa.Table | Iterable[pa.RecordBatch],
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 - the word everyone looks for
    files: int = 1,
    events: int | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write a stream into one file, or with ``files`` > 1 into that many ``part-…`` files of a directory.

    The parts follow each other in time and differ by one event at most. Memory is bounded by half a million events.

    Args:
        batches: A table, or batches as ``stock_batches`` gives them.
        path: The file, or the directory of the parts.
        format: ``"parquet"``, ``"csv"`` or ``"jsonl"``, where the path's ending does not say.
        files: How many files.
        events: How many events there are, which several files need to know; a table knows.
        progress: Called with the number of events written so far.

    Returns:
        The files written.
    """
    path = Path(path)
    chosen = format_of(path, format)
    if isinstance(batches, pa.Table):
        events, batches = len(batches), _table_batches(batches)
    if files < 1:
        raise DataError(f"files is {files}", hint="write at least one file")
    if files == 1:
        return [_write_one(batches, path, chosen, progress)]
    if events is None:
        raise DataError(f"{files} files need the number of events", hint="pass events=..., or a table")
    path.mkdir(parents=True, exist_ok=True)
    sizes = [events // files + (part < events % files) for part in range(files)]
    written: list[Path] = []
    for part, batch_group in enumerate(_stretches(batches, sizes)):
        done = sum(sizes[:part])
        told = None if progress is None else _shifted(progress, done)
        written.append(_write_one(batch_group, path / f"part-{part:05}.{chosen}", chosen, told))
    return written


def format_of(path: Path, given: str | None = None) -> Format:
    """The format named, or the one of the path's ending; ``DataError`` where neither is known."""
    if given is None:
        found = _ENDINGS.get(path.suffix.lower())
        if found is None:
            raise DataError(
                f"{path}: the ending {path.suffix!r} names no format",
                hint=f"name it ({', '.join(get_args(Format))}), or use one of {', '.join(_ENDINGS)}",
            )
        return found
    for known in get_args(Format):
        if given == known:
            return known  # type: ignore[no-any-return]
    guess = did_you_mean(given, get_args(Format)) or f"use {', '.join(get_args(Format))}"
    raise DataError(f"{path}: unknown format {given!r}", hint=guess)


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A hidden path to write to, which becomes ``path`` in one step at the end, or vanishes on an error."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield hidden
        hidden.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            hidden.unlink(missing_ok=True)


def _write_one(batches: Iterable[pa.RecordBatch], path: Path, chosen: Format, progress: Progress | None) -> Path:
    done = 0
    sink: _Sink | None = None
    with appearing(path) as hidden:
        try:
            for batch in batches:
                sink = sink or _SINKS[chosen](hidden, batch.schema)
                sink.add(batch)
                done += len(batch)
                if progress is not None:
                    progress(done)
        finally:
            if sink is not None:
                sink.close()
        if sink is None:
            raise DataError(f"{path}: there are no batches to write", hint="pass at least one, it may be empty")
    return path


class _Sink(Protocol):
    def add(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


class _ParquetSink:
    """Gathers batches into row groups, as many small ones make reading slow."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        # Numbers that hardly repeat gain nothing from a dictionary and cost a hash each.
        self._writer = pyarrow.parquet.ParquetWriter(path, schema, compression="snappy", use_dictionary=texts)
        self._held: list[pa.RecordBatch] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._rows += len(batch)
        if self._rows >= _ROW_GROUP:
            self._flush()

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_batches(self._held, schema=self._schema), row_group_size=_ROW_GROUP)
        self._held, self._rows = [], 0


class _CsvSink:
    """Header and rows; NULL is an empty field, times are ISO 8601."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        shown = pa.schema([(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in schema])
        options = pyarrow.csv.WriteOptions(quoting_style="needed")
        self._writer = pyarrow.csv.CSVWriter(path, shown, write_options=options)
        self._schema = shown

    def add(self, batch: pa.RecordBatch) -> None:
        columns = [
            pc.binary_join_element_wise(*_iso(c), "") if pa.types.is_timestamp(c.type) else c for c in batch.columns
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class _JsonSink:
    """One object per line, built column by column; times are ISO 8601 text.

    Building text costs more than making events, so two threads do it while the next batches are made.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = path.open("wb")
        self._keys = [("," if i else "{") + json.dumps(name) + ":" for i, name in enumerate(schema.names)]
        self._threads = ThreadPoolExecutor(2)
        self._underway: deque[Future[memoryview]] = deque()

    def add(self, batch: pa.RecordBatch) -> None:
        if len(batch):
            self._underway.append(self._threads.submit(self._lines, batch))
        while len(self._underway) > 4:
            self._file.write(self._underway.popleft().result())

    def close(self) -> None:
        try:
            while self._underway:
                self._file.write(self._underway.popleft().result())
        finally:
            self._threads.shutdown()
            self._file.close()

    def _lines(self, batch: pa.RecordBatch) -> memoryview:
        pieces: list[Any] = []
        for key, column in zip(self._keys, batch.columns, strict=True):
            first, *more = _json(key, column)
            if pieces and isinstance(pieces[-1], str) and isinstance(first, str):
                pieces[-1] += first
            else:
                pieces.append(first)
            pieces += more
        lines = pc.binary_join_element_wise(*pieces, "}\n", "")
        # The column's character buffer is the file's text: every line ends in its own newline.
        _, offsets, characters = lines.buffers()
        first, last = (memoryview(offsets).cast("i")[lines.offset + i] for i in (0, len(lines)))
        return memoryview(characters)[first:last]


_SINKS: dict[Format, Callable[[Path, pa.Schema], _Sink]] = {
    "parquet": _ParquetSink,
    "csv": _CsvSink,
    "jsonl": _JsonSink,
}


def _iso(times: pa.Array) -> tuple[pa.Array, str]:
    """``2024-01-02T09:30:00.086215`` and the Z that follows it; nothing follows where times have no zone."""
    # Arrow is ten times slower at writing times with a zone; without one it writes the same moment in UTC.
    text = times.cast(pa.timestamp(times.type.unit)).cast(pa.string())
    return pc.binary_replace_slice(text, 10, 11, "T"), "" if times.type.tz is None else "Z"


def _json(key: str, column: pa.Array) -> list[Any]:
    """Pieces of text that make up a key and its values, with ``null`` for NULL and for numbers JSON lacks."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # Few words, many rows: each distinct word is quoted once, with its key in front.
        distinct = column.cast(pa.string()).dictionary_encode(null_encoding="encode")
        quoted = [key + json.dumps(word, ensure_ascii=False) for word in distinct.dictionary.to_pylist()]
        return [pa.array(quoted, pa.string()).take(distinct.indices)]
    if pa.types.is_timestamp(kind):
        text, zone = _iso(column)
        if column.null_count == 0:
            return [key + '"', text, zone + '"']
        text = pc.binary_join_element_wise('"', text, zone + '"', "")
    elif pa.types.is_floating(kind):
        text = pc.if_else(pc.is_finite(column), column.cast(pa.string()), None)
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        text = column.cast(pa.string())
    else:
        text = pa.array([json.dumps(value) for value in column.to_pylist()], pa.string())
    return [key, text if text.null_count == 0 else pc.fill_null(text, "null")]


def _table_batches(table: pa.Table) -> list[pa.RecordBatch]:
    empty = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in table.schema], schema=table.schema)
    return table.to_batches() or [empty]


def _stretches(batches: Iterable[pa.RecordBatch], sizes: list[int]) -> Iterator[Iterator[pa.RecordBatch]]:
    """Cut a stream into stretches of these sizes; each must be read to its end before the next."""
    source = iter(batches)
    rest: pa.RecordBatch | None = None

    def stretch(size: int) -> Iterator[pa.RecordBatch]:
        nonlocal rest
        while True:
            rest = next(source, None) if rest is None else rest
            if rest is None:
                raise DataError("the stream ended before its number of events", hint="pass the true events=...")
            part, later = rest.slice(0, size), rest.slice(size)
            size -= len(part)
            # A batch that is used up stays, empty, for the parts without events: they need its schema.
            rest = later if len(later) or size == 0 else None
            yield part
            if size == 0:
                return

    for size in sizes:
        yield stretch(size)


def _shifted(progress: Progress, done: int) -> Progress:
    return lambda more: progress(done + more)
