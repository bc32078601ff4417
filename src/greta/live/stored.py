"""A stream ↔ bytes: its queries, columns and options, the events that wait, and the dumps of its open windows.

greta stream | version | checksum | header | schema | windows … | events that wait
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.queries import Label, QueryLike
from greta.errors import StateError
from greta.lang.parser import parse
from greta.lang.printer import print_query
from greta.live.options import Options
from greta.live.packing import pack, unpack
from greta.plan.nodes import Plan

FORMAT = 1
"""Version of snapshots; others are refused."""

_MAGIC = b"greta stream"
_BEGINNING = struct.Struct(f"<{len(_MAGIC)}sII")


@dataclass(frozen=True, slots=True)
class Stored:
    """All that a stream is, between two pushes."""

    queries: list[str]
    """Their texts, as greta prints them."""
    labels: list[Label] | None
    options: Options
    schema: pa.Schema | None
    """The columns that were bound; None before the first event."""
    watermark: int
    until: int
    """The instant up to which windows have been brought, the watermark or before."""
    ahead: datetime | float | None
    """The time that ``advance`` told before the columns were known."""
    counts: dict[str, int]
    waiting: pa.Table | None
    windows: list[bytes]

    def require(
        self, labels: Sequence[Label] | None, queries: Sequence[QueryLike], options: Options, schema: pa.Schema | None
    ) -> None:
        """``StateError`` where a stream of these queries and options cannot go on from here."""
        if [printed(query) for query in queries] != self.queries or (labels and list(labels)) != self.labels:
            raise StateError(
                "the snapshot is that of another query",
                hint=f"go on with the query that it was made of: {' / '.join(self.queries)}",
            )
        usual = Options()
        for name, asked in asdict(options).items():
            stored = getattr(self.options, name)
            # An option that was left out cannot be told from its usual value: the snapshot knows it.
            if asked not in (stored, getattr(usual, name)):
                raise StateError(
                    f"the snapshot is that of a stream whose {name} is {stored!r}, not {asked!r}",
                    hint=f"leave {name} out, the snapshot knows it; or start a new stream",
                )
        if schema is not None and self.schema is not None:
            for field in self.schema:
                at = schema.get_field_index(field.name)
                if at >= 0 and schema.field(at).type != field.type:
                    raise StateError(
                        f"the snapshot is that of a stream whose column {field.name!r} is {field.type}, "
                        f"not {schema.field(at).type}",
                        hint="leave schema out, the snapshot knows it",
                    )


def printed(query: QueryLike) -> str:
    """A query's text in the way greta prints it, so that white space and case of keywords do not matter."""
    if isinstance(query, str):
        return _printed_text(query)
    return print_query(query.query if isinstance(query, Plan) else query)


@lru_cache(maxsize=256)
def _printed_text(query: str) -> str:
    """Snapshots are made again and again of the same text."""
    return print_query(parse(query))


def write(stored: Stored) -> bytes:
    """The stream as bytes."""
    header: dict[str, Any] = {
        "queries": stored.queries,
        "labels": stored.labels,
        "options": asdict(stored.options),
        "watermark": stored.watermark,
        "until": stored.until,
        "ahead": stored.ahead.isoformat() if isinstance(stored.ahead, datetime) else stored.ahead,
        "counts": stored.counts,
        "windows": len(stored.windows),
    }
    blobs = [b"" if stored.schema is None else bytes(stored.schema.serialize()), *stored.windows]
    blobs.append(b"" if stored.waiting is None else to_bytes(stored.waiting))
    body = pack(header, blobs)
    return _BEGINNING.pack(_MAGIC, FORMAT, zlib.crc32(body)) + body


def read(snapshot: bytes) -> Stored:
    """The stream back; ``StateError`` where the bytes are no snapshot, damaged, or of another version."""
    if len(snapshot) < _BEGINNING.size or not snapshot.startswith(_MAGIC):
        raise StateError("these bytes are no snapshot of a stream", hint="pass what Stream.snapshot() returned")
    _, version, checksum = _BEGINNING.unpack_from(snapshot)
    if version != FORMAT:
        raise StateError(
            f"the snapshot has format {version}, this greta reads format {FORMAT}",
            hint="go on with the version of greta that wrote it",
        )
    body = snapshot[_BEGINNING.size :]
    if zlib.crc32(body) != checksum:
        raise StateError("the snapshot is damaged or incomplete", hint="go on from another one")
    header, blobs = unpack(body)
    schema, *rest = blobs
    # Earlier versions wrote rows of open windows after the events that wait; they can be read of the windows.
    windows, waiting = rest[: header["windows"]], rest[header["windows"]]
    ahead = header["ahead"]
    return Stored(
        header["queries"],
        header["labels"],
        replace(Options(), **header["options"]),
        pa.ipc.read_schema(pa.py_buffer(schema)) if schema else None,
        header["watermark"],
        header["until"],
        datetime.fromisoformat(ahead) if isinstance(ahead, str) else ahead,
        header["counts"],
        from_bytes(waiting) if waiting else None,
        windows,
    )
