"""Parquet files → portions of row groups, on the driver; portions → events in the engine's types, in a task.

Reading rows in the JVM and turning them into Arrow is most of a batch's time. Where the files are on this machine's
file system and every one has the columns in the very types that Spark says, tasks read them with Arrow themselves.
Anything else is left to Spark: ``useful_groups`` gives None then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from heapq import heapify, heapreplace

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.engine.tables import plain_type
from greta.errors import DataError
from greta.plan.nodes import Plan
from greta.spark.reading.paths import local_path
from greta.spark.reading.pruning import Bounds, can_matter
from greta.spark.wire.columns import arrow_type
from greta.spark.wire.packing import CHUNK_ROWS

_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_READERS = 8
_MOST_FILES = 20_000
"""With more files, reading all their footers first would take longer than it saves."""


@dataclass(frozen=True, slots=True)
class Files:
    """Parquet files as one input: what Spark reads of them, and the type of their events where it is given."""

    df: DataFrame
    event_type: str | None = None


@dataclass(frozen=True, slots=True)
class Portion:
    """Row groups of a file that one task reads."""

    path: str
    groups: tuple[int, ...]
    event_type: str | None


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group that may matter, and its size in bytes as far as it is read."""

    path: str
    number: int
    bytes: int
    event_type: str | None
    rows: int
    times: Bounds
    """The earliest and the latest time in it, where the file tells."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the files: columns with their types in Spark, and the queries that read them."""

    kinds: Mapping[str, T.DataType]
    plans: tuple[Plan, ...]
    time: str
    type: str


def useful_groups(inputs: Sequence[Files], wanted: Wanted) -> list[RowGroup] | None:
    """The row groups in which some event can play a part; None where Spark must read the files.

    Reads the footer of every file.
    """
    groups: list[RowGroup] = []
    for files in inputs:
        found = _groups(files, wanted)
        if found is None:
            return None
        groups += found
    return groups


def _groups(files: Files, wanted: Wanted) -> list[RowGroup] | None:
    kinds = {field.name: field.dataType for field in files.df.schema.fields}
    needed = [name for name in wanted.kinds if files.event_type is None or name != wanted.type]
    if any(kinds.get(name) != wanted.kinds[name] for name in needed):
        return None
    paths = [local_path(place) for place in files.df.inputFiles()]
    if not paths or len(paths) > _MOST_FILES:
        return None
    local = [str(path) for path in paths if path is not None]
    if len(local) < len(paths):
        return None
    groups: list[RowGroup] = []
    try:
        with ThreadPoolExecutor(_READERS) as readers:
            for path, footer in zip(local, readers.map(pq.read_metadata, local), strict=True):
                if not _fits(footer, {name: wanted.kinds[name] for name in needed}):
                    return None
                groups += _useful_groups(path, footer, needed, files.event_type, wanted)
    except (OSError, pa.ArrowException):
        # Spark says what is wrong with a file, and which.
        return None
    return groups


def _fits(footer: pq.FileMetaData, kinds: Mapping[str, T.DataType]) -> bool:
    """Whether a file has these columns in these types, and no dates of calendars that Spark would convert."""
    if any(key in (footer.metadata or {}) for key in _LEGACY):
        return False
    schema = footer.schema.to_arrow_schema()
    return all(schema.names.count(name) == 1 and _is(schema.field(name).type, kind) for name, kind in kinds.items())


def _is(type_: pa.DataType, kind: T.DataType) -> bool:
    """Whether a column of a file is what Spark says it is, and read here as Spark reads it."""
    type_ = plain_type(type_)
    match kind:
        case T.TimestampType():
            return pa.types.is_timestamp(type_) and type_.tz is not None and type_.unit in ("ms", "us")
        case T.TimestampNTZType():
            return pa.types.is_timestamp(type_) and type_.tz is None and type_.unit in ("ms", "us")
        case T.StringType():
            return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))
        case T.BinaryType() | T.NullType():
            return False
        case _:
            return bool(type_ == arrow_type(kind) and not pa.types.is_binary(type_))


def _useful_groups(
    path: str, footer: pq.FileMetaData, needed: Sequence[str], event_type: str | None, wanted: Wanted
) -> list[RowGroup]:
    places = {footer.schema.column(at).path: at for at in range(footer.num_columns)}
    groups = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        chunks = {name: group.column(places[name]) for name in needed}
        bounds = {name: _bounds(chunk) for name, chunk in chunks.items()}
        if event_type is not None:
            bounds[wanted.type] = Bounds(event_type, event_type)
        if group.num_rows and can_matter(wanted.plans, wanted.type, bounds):
            size = sum(chunk.total_compressed_size for chunk in chunks.values())
            groups.append(RowGroup(path, number, size, event_type, group.num_rows, bounds[wanted.time]))
    return groups


def _bounds(chunk: pq.ColumnChunkMetaData) -> Bounds:
    try:
        statistics = chunk.statistics
        if statistics is None:
            return Bounds()
        if statistics.has_null_count and statistics.null_count == chunk.num_values:
            return Bounds(empty=True)
        return Bounds(statistics.min, statistics.max) if statistics.has_min_max else Bounds()
    except (UnicodeDecodeError, pa.ArrowException, ValueError):
        # Writers may cut texts short, in the middle of a character.
        return Bounds()


def deal(groups: Sequence[RowGroup], tasks: int) -> list[list[Portion]]:
    """Per task its portions, of about the same size: the largest row group first, each to the task with the least."""
    loads = [(0, at) for at in range(min(max(1, tasks), len(groups)))]
    heapify(loads)
    hands: list[list[RowGroup]] = [[] for _ in loads]
    for group in sorted(groups, key=lambda group: -group.bytes):
        load, at = loads[0]
        hands[at].append(group)
        heapreplace(loads, (load + group.bytes, at))
    return [portions_of(hand) for hand in hands]


def portions_of(groups: Sequence[RowGroup]) -> list[Portion]:
    """The same row groups, those of a file together."""
    files: dict[tuple[str, str | None], list[int]] = {}
    for group in groups:
        files.setdefault((group.path, group.event_type), []).append(group.number)
    return [Portion(path, tuple(sorted(numbers)), event_type) for (path, event_type), numbers in files.items()]


def read_portion(portion: Portion, schema: pa.Schema, type_: str) -> Iterator[dict[str, pa.Array]]:
    """The events of a portion, in pieces; columns by name, in the engine's types, text as a dictionary of its words.

    ``DataError`` names the file where it has gone, or is not what it was when the batch was planned.
    """
    names = [name for name in schema.names if name != type_ or portion.event_type is None]
    texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
    try:
        with pq.ParquetFile(portion.path, read_dictionary=texts) as file:
            batches = file.iter_batches(CHUNK_ROWS, row_groups=list(portion.groups), columns=names, use_threads=False)
            for batch in batches:
                events = {name: to_engine(batch.column(name), schema.field(name).type) for name in names}
                if portion.event_type is not None:
                    events[type_] = pa.repeat(portion.event_type, batch.num_rows)
                yield events
    except FileNotFoundError as error:
        raise DataError(
            f"{portion.path}: the file was there when the batch was planned, and has gone",
            hint="is somebody replacing the files? Start again when they are all there",
        ) from error
    except PermissionError as error:
        raise DataError(
            f"{portion.path}: may not be read: {error}", hint="let the user that Spark runs as read it"
        ) from error
    except (OSError, pa.ArrowException, KeyError) as error:
        raise DataError(
            f"{portion.path}: cannot be read: {error}",
            hint="is it damaged, or in another format than its name says?",
        ) from error


def to_engine(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """A column as Arrow reads it from a file, in the engine's type; text may be a dictionary of its words."""
    if pa.types.is_timestamp(type_):
        return column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64()).view(type_)
    if pa.types.is_string(type_):
        text = pa.dictionary(pa.int32(), type_) if pa.types.is_dictionary(column.type) else type_
        return column if column.type == text else column.cast(text)
    return column if column.type == type_ else column.cast(type_)
