"""The web application: routes in, JSON and the page's own files out.

Workers answer everything that takes a query or a file; this process only passes questions on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from greta.drawing.svg import DARK, LIGHT
from greta.studio.api import ROUTES
from greta.studio.guard import Guard, policy
from greta.studio.runs import Runs
from greta.studio.session import Session, Settings
from greta.studio.uploads import Uploads

STATIC = Path(__file__).parent / "static"


def create_app(settings: Settings | None = None) -> Starlette:
    """The studio as an ASGI application; its workers and files last from start-up to shut-down."""
    chosen = settings or Settings()
    return Starlette(
        routes=[
            Route("/", _page),
            Route("/theme.css", _theme),
            *ROUTES,
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
                await asyncio.gather(session.thinker.stop(), session.watcher.stop(), session.walker.stop())

    return lifespan


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
