"""Questions of the page, over HTTP → answers, as JSON; errors are ``{"error": {"message", "hint", …}}``."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from greta import __version__
from greta.studio.guard import is_loopback
from greta.studio.problems import StudioError, describe
from greta.studio.session import Session
from greta.studio.workers import WorkerError

_LARGEST_JSON = 200_000
_LONGEST_FILTER = 500
_DOWNLOADS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}

Handler = Callable[[Request, Session], Awaitable[Response]]


class Answer(JSONResponse):
    """JSON in ASCII alone: what users type may hold halves of characters that no encoding takes."""

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content, allow_nan=False).encode("ascii")


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


async def kept(request: Request, session: Session) -> Response:
    """Whether an upload is still here: a page that is loaded anew asks."""
    return Answer({"size": session.uploads.get(request.path_params["id"]).size})


async def outline(request: Request, session: Session) -> Response:
    """Columns and first rows of a sample."""
    asked = await _json(request)
    return Answer(await session.think("outline", source=session.source(asked.get("source"))))


async def attribute(request: Request, session: Session) -> Response:
    """A numeric attribute of the events, over time."""
    asked = await _json(request)
    name, by, groups = asked.get("attribute"), asked.get("by", []), asked.get("groups", [])
    columns = [name, *by, *groups] if isinstance(by, list) and isinstance(groups, list) else [None]
    if not all(isinstance(column, str) for column in columns):
        raise StudioError("the request names no attribute")
    source = session.source(asked.get("source"))
    return Answer(await session.think("attribute", source=source, attribute=name, by=by, groups=groups))


async def copied(request: Request, session: Session) -> Response:
    """The query over its data as programs to paste."""
    asked = await _json(request)
    numbers = "exact" if asked.get("exact") else "double"
    query, source = _query(asked, session), session.source(asked.get("source"))
    return Answer(await session.think("snippets", query=query, source=source, numbers=numbers))


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
    """A page of a run's rows, sorted and filtered."""
    run = session.runs.finished(request.path_params["id"])
    asked = request.query_params
    selection = {
        "sort": asked.get("sort") or None,
        "descending": asked.get("descending") == "true",
        "filter": asked.get("filter", "")[:_LONGEST_FILTER],
        "since": _seconds(request, "since"),
        "until": _seconds(request, "until"),
    }
    return Answer(
        await session.think(
            "rows",
            result=str(run.result),
            offset=_number(request, "offset", 0),
            limit=_number(request, "limit", 20),
            selection=selection,
            around=_number(request, "around", 0) if asked.get("around") else None,
        )
    )


async def series(request: Request, session: Session) -> Response:
    """One aggregate over time."""
    run = session.runs.finished(request.path_params["id"])
    column = request.query_params.get("column", "")
    summary = run.summary
    if column not in summary["aggregates"]:
        raise StudioError(f"there is no aggregate {column}", ", ".join(summary["aggregates"]), status=404)
    return Answer(
        await session.think(
            "series", result=str(run.result), column=column, groups=summary["groups"], slide=summary["slide"]
        )
    )


async def graph(request: Request, session: Session) -> Response:
    """The graph behind one row, and the trends in it."""
    run = session.runs.finished(request.path_params["id"])
    return Answer(
        await session.think(
            "graph",
            query=run.query,
            source=run.source,
            result=str(run.result),
            row=_number(request, "row", 0),
            height=request.query_params.get("height") or None,
        )
    )


async def trends(request: Request, session: Session) -> Response:
    """Some trends of a row, with the values of an attribute."""
    run = session.runs.finished(request.path_params["id"])
    asked = request.query_params
    return Answer(
        await session.walker.ask(
            "trends",
            timeout=session.settings.limits.trends_seconds,
            query=run.query,
            source=run.source,
            result=str(run.result),
            row=_number(request, "row", 0) if asked.get("row") else None,
            pick=asked.get("pick", "sample")[:_LONGEST_FILTER],
            attribute=asked.get("attribute") or None,
            seed=_number(request, "seed", 0),
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


def _seconds(request: Request, name: str) -> float | None:
    try:
        value = float(request.query_params.get(name, ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else default


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


ROUTES = (
    Route("/api/start", _api(start)),
    Route("/api/check", _api(check), methods=["POST"]),
    Route("/api/outline", _api(outline), methods=["POST"]),
    Route("/api/attribute", _api(attribute), methods=["POST"]),
    Route("/api/snippets", _api(copied), methods=["POST"]),
    Route("/api/uploads", _api(upload), methods=["POST"]),
    Route("/api/uploads/{id}", _api(kept), methods=["GET"]),
    Route("/api/runs", _api(begin), methods=["POST"]),
    Route("/api/runs/{id}", _api(progress), methods=["GET"]),
    Route("/api/runs/{id}", _api(cancel), methods=["DELETE"]),
    Route("/api/runs/{id}/rows", _api(rows)),
    Route("/api/runs/{id}/series", _api(series)),
    Route("/api/runs/{id}/graph", _api(graph)),
    Route("/api/runs/{id}/trends", _api(trends)),
    Route("/api/runs/{id}/rows.{format:str}", _api(download)),
    Route("/api/follow", _api(choose), methods=["POST"]),
    Route("/api/follow/{id}", _api(look)),
)
