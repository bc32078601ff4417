"""Uploaded files: streamed to a directory of the session, looked at, forgotten when newer ones come."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe

from greta.studio.limits import MEGABYTE, Limits
from greta.studio.problems import StudioError

_UNSAFE = re.compile(r"[^\w.\- ]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that a user gave, under the name they gave it, as far as it is safe."""

    id: str
    path: Path
    size: int


class Uploads:
    """The files of one session."""

    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._kept: dict[str, Upload] = {}

    async def receive(self, name: str, body: AsyncIterable[bytes]) -> Upload:
        """Write a body to disk piece by piece; ``StudioError`` as soon as it is too large."""
        key = token_urlsafe(9)
        path = self._directory / key / safe_name(name)
        path.parent.mkdir(parents=True)
        size = 0
        try:
            with path.open("wb") as file:
                async for piece in body:
                    size += len(piece)
                    self.check_size(size)
                    file.write(piece)
            if size == 0:
                raise StudioError(f"{path.name}: the file is empty", "choose a file with events")
        except BaseException:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
        upload = self._kept[key] = Upload(key, path, size)
        for old in list(self._kept)[: -self._limits.uploads_kept]:
            self.forget(old)
        return upload

    def check_size(self, size: int) -> None:
        """``StudioError`` where a file of this many bytes is too large."""
        limit = self._limits.upload_bytes
        if size > limit:
            raise StudioError(
                f"the file is larger than {limit / MEGABYTE:g} MB, the most that can be uploaded here",
                "start greta studio with a larger --max-upload, or call greta.aggregate on the file",
                status=413,
            )

    def get(self, key: object) -> Upload:
        """A file by its identifier."""
        upload = self._kept.get(key) if isinstance(key, str) else None
        if upload is None:
            raise StudioError("this file is not here any more", "upload it again", status=404)
        return upload

    def forget(self, key: str) -> None:
        """Delete a file."""
        upload = self._kept.pop(key, None)
        if upload is not None:
            shutil.rmtree(upload.path.parent, ignore_errors=True)


def safe_name(name: str) -> str:
    """A file name that names nothing but a file.

    >>> safe_name("../../etc/pass wd.csv"), safe_name("trades.2024.parquet"), safe_name("..")
    ('pass wd.csv', 'trades.2024.parquet', 'events')
    """
    last = re.split(r"[/\\]", name)[-1]
    stem = _UNSAFE.sub("_", last).strip(". ")
    return stem[-80:].lstrip(". ") or "events"
