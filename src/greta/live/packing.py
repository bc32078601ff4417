"""A header and blobs ↔ bytes: what snapshots are made of."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct("<Q")


def pack(header: dict[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
    """One piece of bytes: the header's length, the header as JSON with the blobs' sizes, the blobs.

    >>> unpack(pack({"engine": "none"}, [b"abc", b""]))
    ({'engine': 'none'}, [b'abc', b''])
    """
    text = json.dumps(header | {"sizes": [len(blob) for blob in blobs]}).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *blobs])


def unpack(packed: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The header and the blobs."""
    (length,) = _LENGTH.unpack_from(packed)
    at = _LENGTH.size + length
    header: dict[str, Any] = json.loads(packed[_LENGTH.size : at])
    blobs = []
    for size in header.pop("sizes"):
        blobs.append(packed[at : at + size])
        at += size
    return header, blobs
