"""A table ↔ one compressed piece of bytes: how events and partial rows travel and are stored."""

from __future__ import annotations

import pyarrow as pa

_QUICK = pa.ipc.IpcWriteOptions(compression="lz4")
_SMALL = pa.ipc.IpcWriteOptions(compression="zstd")


def to_bytes(table: pa.Table, *, small: bool = False) -> bytes:
    """A table as one compressed Arrow stream; ``small`` takes longer, and pays where bytes are stored."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_SMALL if small else _QUICK) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def from_bytes(blob: bytes) -> pa.Table:
    """The table back."""
    with pa.ipc.open_stream(blob) as reader:
        return reader.read_all()
