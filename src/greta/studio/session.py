"""What lives while the server runs: settings, workers, runs, uploaded files, followed directories."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from greta.studio.guard import is_loopback
from greta.studio.limits import LIMITS, Limits
from greta.studio.problems import StudioError
from greta.studio.runs import Runs
from greta.studio.uploads import Uploads
from greta.studio.workers import Worker


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line decides."""

    host: str = "127.0.0.1"
    token: str | None = None
    """What an address must carry to be let in; None lets in everybody who reaches the port."""
    follow: tuple[Path, ...] = ()
    limits: Limits = LIMITS


@dataclass(slots=True)
class Session:
    """Everything that lives while the server runs."""

    settings: Settings
    uploads: Uploads
    runs: Runs
    thinker: Worker = field(default_factory=Worker)
    watcher: Worker = field(default_factory=Worker)
    walker: Worker = field(default_factory=Worker)
    """Looks for trends, which may take a while, so that other questions need not wait."""
    followed: dict[str, Path] = field(default_factory=dict)

    async def think(self, ask: str, **arguments: Any) -> dict[str, Any]:
        """A question that must be answered soon."""
        return await self.thinker.ask(ask, timeout=self.settings.limits.answer_seconds, **arguments)

    def source(self, named: object) -> dict[str, Any]:
        """A source as workers take it: the identifier of an upload replaced by its path."""
        if not isinstance(named, dict):
            raise StudioError("no data is chosen", "choose a sample, or upload a file")
        if "sample" in named:
            return {"sample": named["sample"]}
        chosen = {k: v for k, v in named.items() if k in ("time", "time_unit", "type", "event_type")}
        return chosen | {"path": str(self.uploads.get(named.get("upload")).path)}

    def choose(self, path: object) -> str:
        """A key under which a directory can be followed.

        A browser may name any directory only where nobody but this machine's users can reach the server.
        """
        if not is_loopback(self.settings.host):
            raise StudioError(
                "directories are chosen on the command line while other machines can reach the studio",
                "start it with --follow DIR",
                status=403,
            )
        if not isinstance(path, str) or not path.strip() or "\0" in path:
            raise StudioError("no directory is named", "name the output directory of greta stream")
        return self.add_directory(Path(path.strip()))

    def add_directory(self, path: Path) -> str:
        """Remember a directory, which need not be there yet; the same one keeps its key."""
        try:
            path = path.expanduser().resolve()
        except RuntimeError:
            raise StudioError(f"{path}: there is no user of this name", "write the directory in full") from None
        if path.exists() and not path.is_dir():
            raise StudioError(f"{path}: this is a file", "name the output directory of greta stream")
        for key, followed in self.followed.items():
            if followed == path:
                return key
        key = token_urlsafe(9)
        self.followed[key] = path
        return key
