"""Rows of a stream → a Delta or Iceberg table, every row once, whatever ends in between.

A micro-batch is two commits: that of the table, and Spark's own in the checkpoint. Where the driver dies between them,
Spark runs the micro-batch again, under the same number. So the number is written *in the table's own commit*, under a
name that belongs to the checkpoint, and a number that is there already is not written again.

``delta:DIR``                          a Delta table (``deltalake``), the number as an application transaction
``iceberg:CATALOG.NAMESPACE.TABLE``    an Iceberg table (``pyiceberg``), the number as a property of the table

The rows of one micro-batch pass through the driver.
"""

from __future__ import annotations

import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.errors import DataError, SetupError
from greta.spark.compat import to_arrow
from greta.spark.reading.paths import local_path
from greta.spark.stream.checkpoint import filesystem
from greta.spark.wire.columns import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

KINDS = ("delta", "iceberg")
"""The words before the colon."""
NAME = "greta-table.txt"
"""The file in a checkpoint with the name under which its micro-batches are noted in tables."""

_ATTEMPTS = 10
"""Commits that are tried where others write into the same table at the same time."""


@dataclass(frozen=True, slots=True)
class Table(ABC):
    """A table that takes the rows of micro-batches."""

    place: str
    schema: pa.Schema
    """The columns of the rows."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the table where there is none; ``DataError`` where it has other columns than the rows."""

    @abstractmethod
    def append(self, rows: pa.Table, stream: str, number: int) -> None:
        """Add the rows of a stream's micro-batch in one commit, unless they are there already."""


@dataclass(frozen=True, slots=True)
class DeltaTable(Table):
    """A Delta table: directory or address of an object store."""

    def prepare(self) -> None:
        """Open or make it."""
        from deltalake import DeltaTable as Delta
        from deltalake.exceptions import DeltaError

        try:
            table = Delta.create(self._address, self.schema, mode="ignore")
            _same_columns(f"delta:{self.place}", pa.schema(table.schema().to_arrow()), self.schema)
        except (DeltaError, OSError) as error:
            raise SetupError(
                f"delta:{self.place}: the table cannot be opened or made: {error}",
                hint="name a directory that holds a Delta table or nothing, and that you may write",
            ) from error

    def append(self, rows: pa.Table, stream: str, number: int) -> None:
        """Write with the micro-batch's number as the version of an application transaction."""
        from deltalake import CommitProperties, Transaction, write_deltalake
        from deltalake import DeltaTable as Delta

        table = Delta(self._address)
        last = table.transaction_version(stream)
        if last is not None and last >= number:
            return
        names = [field.name for field in table.schema().fields]
        note = CommitProperties(app_transactions=[Transaction(stream, number)], max_commit_retries=_ATTEMPTS)
        write_deltalake(table, rows.select(names), mode="append", commit_properties=note)

    @property
    def _address(self) -> str:
        path = local_path(self.place)
        return _s3(self.place) if path is None else str(path.absolute())


@dataclass(frozen=True, slots=True)
class IcebergTable(Table):
    """An Iceberg table, in a catalog that PyIceberg's own settings describe."""

    def prepare(self) -> None:
        """Open or make it, with its namespace."""
        from pyiceberg.exceptions import NamespaceAlreadyExistsError, TableAlreadyExistsError

        catalog, namespace, _ = self._names()
        loaded = self._catalog(catalog)
        try:
            if not loaded.table_exists(self._identifier):
                with suppress(NamespaceAlreadyExistsError):
                    loaded.create_namespace(namespace)
                with suppress(TableAlreadyExistsError):
                    loaded.create_table(self._identifier, self.schema)
            _same_columns(f"iceberg:{self.place}", loaded.load_table(self._identifier).schema().as_arrow(), self.schema)
        except DataError:
            raise
        # Catalogs are databases, services and object stores, each with errors of its own.
        except Exception as error:
            raise SetupError(
                f"iceberg:{self.place}: the table cannot be opened or made: {error}",
                hint="is the catalog reachable, and may you write there?",
            ) from error

    def append(self, rows: pa.Table, stream: str, number: int) -> None:
        """Write rows and number in one transaction; where others were faster, look again and repeat."""
        from pyiceberg.exceptions import CommitFailedException

        note = f"greta.stream.{stream}"
        for attempt in range(_ATTEMPTS):
            table = self._catalog(self._names()[0]).load_table(self._identifier)
            if int(table.properties.get(note, -1)) >= number:
                return
            columns = [field.name for field in table.schema().fields]
            try:
                with table.transaction() as both:
                    both.append(rows.select(columns))
                    both.set_properties({note: str(number)})
            except CommitFailedException:
                if attempt + 1 == _ATTEMPTS:
                    raise
            else:
                return

    @property
    def _identifier(self) -> str:
        return self.place.partition(".")[2]

    def _names(self) -> tuple[str, str, str]:
        catalog, _, rest = self.place.partition(".")
        namespace, _, table = rest.rpartition(".")
        if not (catalog and namespace and table):
            raise DataError(f"iceberg:{self.place} names no table", hint="iceberg:CATALOG.NAMESPACE.TABLE")
        return catalog, namespace, table

    def _catalog(self, name: str) -> Any:
        from pyiceberg.catalog import load_catalog

        try:
            return load_catalog(name)
        except Exception as error:
            raise SetupError(
                f"iceberg:{self.place}: there is no catalog {name!r}: {error}",
                hint=f"describe it in .pyiceberg.yaml, or by PYICEBERG_CATALOG__{name.upper()}__URI and "
                f"PYICEBERG_CATALOG__{name.upper()}__WAREHOUSE, e.g. sqlite:///catalog.db and file:///warehouse",
            ) from error


def is_table(place: str) -> bool:
    """Whether an output is a table.

    >>> is_table("delta:rows"), is_table("rows")
    (True, False)
    """
    return place.partition(":")[0] in KINDS


def write_table(place: str, rows: DataFrame, checkpoint: str) -> DataStreamWriter:
    """A writer into ``delta:…`` or ``iceberg:…``; the table is there when this returns, and has the rows' columns.

    ``checkpoint`` is the directory that the query will have as its ``checkpointLocation``.
    """
    table = open_table(place, table_schema(rows.schema, place))
    table.prepare()
    return rows.writeStream.foreachBatch(_appender(table, stream_name(checkpoint)))


def open_table(output: str, schema: pa.Schema) -> Table:
    """The table that an output names, for rows with these columns."""
    kind, _, place = output.partition(":")
    package, extra = {"delta": ("deltalake", "delta"), "iceberg": ("pyiceberg", "iceberg")}[kind]
    if find_spec(package) is None:
        raise SetupError(f"{output} needs the package {package}", hint=f"pip install 'greta-trends[{extra}]'")
    return DeltaTable(place, schema) if kind == "delta" else IcebergTable(place, schema)


def _appender(table: Table, stream: str) -> Callable[[DataFrame, int], None]:
    def append(rows: DataFrame, number: int) -> None:
        # Computed in any case: the stream's state is stepped by it.
        found = to_arrow(rows)
        if found.num_rows:
            table.append(found.cast(table.schema), stream, number)

    return append


def table_schema(schema: T.StructType, output: str) -> pa.Schema:
    """The columns of rows as an output's table has them: instants are in UTC, whatever the session's zone is."""
    iceberg = output.partition(":")[0] == "iceberg"
    return pa.schema([(field.name, _column_type(field.dataType, iceberg=iceberg)) for field in schema.fields])


def _column_type(type_: T.DataType, *, iceberg: bool) -> pa.DataType:
    match type_:
        case T.ByteType() | T.ShortType() if iceberg:
            # Its smallest integer has 32 bits.
            return pa.int32()
        case T.TimestampType():
            return pa.timestamp("us", "UTC")
        case T.NullType():
            # Tables have no column without a type; it holds NULL alone.
            return pa.string()
        case _:
            return arrow_type(type_)


def stream_name(checkpoint: str) -> str:
    """The name of a checkpoint's stream in tables: made with the checkpoint, kept in it, and gone with it.

    Micro-batches are numbered anew with a new checkpoint, in the same directory too: their rows are others.
    """
    try:
        files, path = filesystem(checkpoint)
        file = f"{path}/{NAME}"
        if files.get_file_info(file).is_file:
            with files.open_input_stream(file) as stream:
                return str(stream.read().decode().strip())
        name = f"greta-{uuid.uuid4()}"
        files.create_dir(path, recursive=True)
        with files.open_output_stream(file) as out:
            out.write(name.encode())
    except (pa.ArrowException, OSError) as error:
        raise SetupError(
            f"the checkpoint {checkpoint} cannot be used for a table: {error}",
            hint="give a directory on this machine, or an address that PyArrow can write (s3://, hdfs://, gs://)",
        ) from error
    return name


def _s3(place: str) -> str:
    """Hadoop's names for S3 are s3a and s3n."""
    return re.sub(r"^s3[an]:", "s3:", place)


def _same_columns(place: str, table: pa.Schema, rows: pa.Schema) -> None:
    """Raise where a table's columns are not those of the rows, before anything is written."""
    there = {field.name: _plain(field.type) for field in table}
    coming = {field.name: _plain(field.type) for field in rows}
    if there == coming:
        return
    parts = [
        *(f"it lacks {name} ({kind})" for name, kind in coming.items() if name not in there),
        *(f"the rows lack {name} ({kind})" for name, kind in there.items() if name not in coming),
        *(
            f"its {name} is {there[name]}, that of the rows {kind}"
            for name, kind in coming.items()
            if there.get(name, kind) != kind
        ),
    ]
    raise DataError(
        f"{place}: the table has other columns than the rows: {'; '.join(parts)}",
        hint="nothing was written; name another table, or rename columns with AS",
    )


def _plain(type_: pa.DataType) -> pa.DataType:
    """A type without the ways in which it is stored."""
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    return type_
