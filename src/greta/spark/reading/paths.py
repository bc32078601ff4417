"""A path or URI on the command line → a path on this machine, or none: Spark's file systems have it then."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlparse

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def local_path(place: str) -> Path | None:
    """The path, where a place is on this machine.

    >>> local_path("rows/new"), local_path("file:///rows/new%20ones"), local_path("s3a://bucket/rows")
    (PosixPath('rows/new'), PosixPath('/rows/new ones'), None)
    """
    if _SCHEME.match(place) is None:
        return Path(place)
    parsed = urlparse(place)
    return Path(unquote(parsed.path)) if parsed.scheme == "file" else None
