"""The web application: routes in, JSON and the page's own files out.

Workers answer everything that takes a query or a file; this process only passes questions on. Errors become
``{"error": {"message", "hint", …}}`` with a fitting status.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from greta import __version__
from greta.plan.svg import DARK, LIGHT
from greta.studio.guard import Guard, is_loopback, policy
from greta.studio.limits import LIMITS, Limits
from greta.studio.problems import StudioError, describe
from greta.studio.runs import Runs
from greta.studio.uploads import Uploads
from greta.studio.workers import Worker, WorkerError

STATIC = Path(__file__).parent / "static"
_LARGEST_JSON = 200_000
_DOWNLOADS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


class Answer(JSONResponse):
    """JSON in ASCII alone: what users type may hold halves of characters that no encoding takes."""

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content, allow_nan=False).encode("ascii")


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


Handler = Callable[[Request, Session], Awaitable[Response]]


def create_app(settings: Settings | None = None) -> Starlette:
    """The studio as an ASGI application; its workers and files last from start-up to shut-down."""
    chosen = settings or Settings()
    return Starlette(
        routes=[
            Route("/", _page),
            Route("/theme.css", _theme),
            Route("/api/start", _api(start)),
            Route("/api/check", _api(check), methods=["POST"]),
            Route("/api/uploads", _api(upload), methods=["POST"]),
            Route("/api/runs", _api(begin), methods=["POST"]),
            Route("/api/runs/{id}", _api(progress), methods=["GET"]),
            Route("/api/runs/{id}", _api(cancel), methods=["DELETE"]),
            Route("/api/runs/{id}/rows", _api(rows)),
            Route("/api/runs/{id}/series", _api(series)),
            Route("/api/runs/{id}/graph", _api(graph)),
            Route("/api/runs/{id}/rows.{format:str}", _api(download)),
            Route("/api/follow", _api(choose), methods=["POST"]),
            Route("/api/follow/{id}", _api(look)),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, host=chosen.host, token=chosen.token)],
        lifespan=_lifespan(chosen),
    )


def _lifespan(settings: Settings) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        with TemporaryDirectory(prefix="greta-studio-") as name:
            directory = Path(name)
            (directory / "runs").mkdir()
            session = Session(
                settings,
                Uploads(directory / "uploads", settings.limits),
                Runs(directory / "runs", settings.limits),
            )
            for path in settings.follow:
                session.add_directory(path)
            app.state.session = session
            session.runs.warm()
            try:
                yield
            finally:
                await session.runs.stop()
                await asyncio.gather(session.thinker.stop(), session.watcher.stop())

    return lifespan


def _api(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose errors are answers."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request, request.app.state.session)
        except StudioError as error:
            return Answer({"error": describe(error)}, status_code=error.status)
        except WorkerError as error:
            return Answer({"error": error.described}, status_code=400)
        except ClientDisconnect:
            return Response(status_code=499)
        except TimeoutError:
            # The guard's: the client stalls.
            raise
        except OSError as error:
            # A full disk, too many open files: not the question's fault, but not a mistake of the studio's either.
            message = f"the machine that runs the studio says: {error.strerror or error}"
            return Answer({"error": {"message": message, "hint": None}}, status_code=503)

    return handle


async def _page(_request: Request) -> Response:
    """The page, with a nonce that only its own script can read: the editor brings style sheets along."""
    nonce = token_urlsafe(16)
    text = (STATIC / "index.html").read_text(encoding="utf-8").replace("NONCE", nonce)
    return HTMLResponse(text, headers={"Content-Security-Policy": policy(nonce)})


async def _theme(_request: Request) -> Response:
    """The colours of greta's pictures as custom properties, and the rules that colour pictures by them."""
    light, dark = ("".join(f"--{role}:{colour};" for role, colour in p.items()) for p in (LIGHT, DARK))
    roles = "".join(f".gf-{role}{{fill:var(--{role})}}.gs-{role}{{stroke:var(--{role})}}" for role in LIGHT)
    sheet = f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{roles}"
    return Response(sheet, media_type="text/css")


async def start(_request: Request, session: Session) -> Response:
    """What the page needs before anything else."""
    answer = await session.think("samples")
    return Answer(
        answer
        | {
            "version": __version__,
            "limits": session.settings.limits.to_dict(),
            "followed": [{"id": key, "path": str(path)} for key, path in session.followed.items()],
            "may_choose": is_loopback(session.settings.host),
        }
    )


async def check(request: Request, session: Session) -> Response:
    """Is the text a query over these events, and what does it mean?"""
    asked = await _json(request)
    query = _query(asked, session)
    source = session.source(asked["source"]) if asked.get("source") else None
    return Answer(await session.think("check", query=query, source=source))


async def upload(request: Request, session: Session) -> Response:
    """Take in a file and say what is in it."""
    length = request.headers.get("content-length", "")
    if length.isdigit():
        session.uploads.check_size(int(length))
    received = await session.uploads.receive(request.query_params.get("name", ""), request.stream())
    try:
        found = await session.think("inspect", path=str(received.path))
    except WorkerError:
        session.uploads.forget(received.id)
        raise
    return Answer(found | {"upload": received.id, "name": received.path.name, "size": received.size})


async def begin(request: Request, session: Session) -> Response:
    """Run a query."""
    asked = await _json(request)
    query, source = _query(asked, session), session.source(asked.get("source"))
    numbers = "exact" if asked.get("exact") else "double"
    return Answer(session.runs.start(query, source, numbers).to_dict(), status_code=202)


async def progress(request: Request, session: Session) -> Response:
    """How far a run is."""
    return Answer(session.runs.get(request.path_params["id"]).to_dict())


async def cancel(request: Request, session: Session) -> Response:
    """End a run."""
    run = await session.runs.cancel(request.path_params["id"])
    return Answer(run.to_dict())


async def rows(request: Request, session: Session) -> Response:
    """A page of a run's rows."""
    run = session.runs.finished(request.path_params["id"])
    offset, limit = _number(request, "offset", 0), _number(request, "limit", 20)
    return Answer(await session.think("rows", result=str(run.result), offset=offset, limit=limit))


async def series(request: Request, session: Session) -> Response:
    """One aggregate over time."""
    run = session.runs.finished(request.path_params["id"])
    column = request.query_params.get("column", "")
    if column not in run.summary["aggregates"]:
        raise StudioError(f"there is no aggregate {column}", ", ".join(run.summary["aggregates"]), status=404)
    return Answer(await session.think("series", result=str(run.result), column=column, groups=run.summary["groups"]))


async def graph(request: Request, session: Session) -> Response:
    """The graph behind one row, and the trends in it."""
    run = session.runs.finished(request.path_params["id"])
    return Answer(
        await session.think(
            "graph", query=run.query, source=run.source, result=str(run.result), row=_number(request, "row", 0)
        )
    )


async def download(request: Request, session: Session) -> Response:
    """All rows as a file, CSV or Parquet."""
    run = session.runs.finished(request.path_params["id"])
    chosen = request.path_params["format"]
    if chosen not in _DOWNLOADS:
        raise StudioError(f"rows do not come as {chosen}", f"choose {' or '.join(_DOWNLOADS)}", status=404)
    target = run.result.with_suffix(f".{chosen}")
    await session.think(chosen, result=str(run.result), target=str(target))
    return FileResponse(target, media_type=_DOWNLOADS[chosen], filename=f"rows.{chosen}")


async def choose(request: Request, session: Session) -> Response:
    """Pick a directory to follow."""
    asked = await _json(request)
    return Answer({"id": session.choose(asked.get("path"))})


async def look(request: Request, session: Session) -> Response:
    """What is new in a followed directory."""
    directory = session.followed.get(request.path_params["id"])
    if directory is None:
        raise StudioError("this directory is not followed", "choose it again", status=404)
    return Answer(
        await session.watcher.ask(
            "follow",
            timeout=session.settings.limits.answer_seconds,
            directory=str(directory),
            column=request.query_params.get("column"),
        )
    )


async def _json(request: Request) -> Mapping[str, Any]:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_JSON:
            raise StudioError("the request is too long", "write a shorter query", status=413)
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise StudioError("the request is not a JSON object")
    return asked


def _query(asked: Mapping[str, Any], session: Session) -> str:
    query = asked.get("query")
    most = session.settings.limits.query_characters
    if not isinstance(query, str):
        raise StudioError("the request has no query")
    if len(query) > most:
        raise StudioError(f"the query is longer than {most:,} characters", "write a shorter query", status=413)
    return query


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else default
