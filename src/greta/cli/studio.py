"""``greta studio``: a local web page to write queries in, see what they mean, and follow streams."""

from __future__ import annotations

import socket
import webbrowser
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated

import typer

from greta.cli.output import examples
from greta.errors import SetupError

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = f"""
{examples("greta studio", "greta studio --port 9000 --no-browser", "greta studio --follow out/trends")}

The page is served to this machine alone, and to those alone who have the address with its token: keep it to
yourself. Another --host lets other machines reach it, without encryption. Uploaded files are deleted when the
studio ends.
"""


@app.command(epilog=_EXAMPLES)
def studio(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8400,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page.")] = False,
    follow: Annotated[
        list[Path] | None,
        typer.Option(
            help="Output directory of greta stream to follow, there already or not; may be given several times.",
            file_okay=False,
        ),
    ] = None,
    max_upload: Annotated[
        int, typer.Option(min=1, metavar="MB", help="Largest file that can be uploaded, in megabytes.")
    ] = 200,
) -> None:
    """Open a local web page: write a query, see its template, its rows and the trends behind them."""
    try:
        from greta.studio.app import create_app
        from greta.studio.serving import serve
    except ModuleNotFoundError as error:
        raise SetupError(f"the studio needs {error.name}", hint="pip install 'greta-trends[studio]'") from error
    from greta.studio.guard import is_loopback
    from greta.studio.limits import MEGABYTE, Limits
    from greta.studio.session import Settings

    token = token_urlsafe(16)
    settings = Settings(host, token, tuple(follow or ()), Limits(upload_bytes=max_upload * MEGABYTE))
    listener = _listen(host, port)
    address = f"{_address(host, listener.getsockname()[1])}?token={token}"
    typer.echo(f"greta studio: {address}  (Ctrl-C ends it)", err=True)
    if not is_loopback(host):
        typer.echo("Other machines can reach it too: whoever has the address can run queries here.", err=True)
    if not no_browser:
        # The socket listens already: a browser that is faster than the server waits for it.
        webbrowser.open(address)
    # Ctrl-C is the way to end it, and no failure.
    with suppress(KeyboardInterrupt):
        serve(create_app(settings), listener)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=64)
    except OSError as error:
        raise SetupError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="another studio may be running; choose another --port, or 0 for a free one",
        ) from error


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"
