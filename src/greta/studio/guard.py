"""Who may talk to the studio: requests of its own page, and of nobody else.

A web site that the user visits at the same time can send requests to this machine, under its own name (which
``Origin`` and ``Sec-Fetch-Site`` give away) or under a name that it points at this machine (which ``Host``
gives away). Both are refused. Other users of the machine reach the same port, so the address that is printed carries a
token: whoever opens it gets a cookie, and without the cookie nothing is answered. A client that stops half-way through
a request or an answer is not waited for. The page itself may load and run nothing but the studio's own files.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATIENCE_SECONDS = 30.0
"""How long a client may send or take nothing in the middle of a request or an answer."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_POLICY = "Content-Security-Policy"
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


def policy(nonce: str | None = None) -> str:
    """What a page may load: the studio's files, and the style sheets of the editor, which knows the nonce.

    Images may also be blobs, which only the page itself can make: a chart becomes a PNG that way.
    """
    style = "'self'" if nonce is None else f"'self' 'nonce-{nonce}'"
    return (
        f"default-src 'none'; script-src 'self'; style-src {style}; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware: refuses strangers, ends what stalls, adds the headers that bind the page."""

    def __init__(
        self, app: ASGIApp, host: str = "127.0.0.1", token: str | None = None, patience: float = PATIENCE_SECONDS
    ) -> None:
        self.app = app
        self._local = is_loopback(host)
        self._names = _LOOPBACK if self._local else {*_LOOPBACK, host.lower(), socket.gethostname().lower()}
        self._token = token
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403; a client that stalls in its middle gets 408, or no more."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        whole = answered = False

        async def patient() -> Message:
            nonlocal whole
            if whole:
                # Whoever asks now waits for the end of the connection, which may take as long as the answer.
                return await receive()
            async with asyncio.timeout(self._patience):
                message = await receive()
            whole = not message.get("more_body", False)
            return message

        async def bound(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault(_POLICY, policy())
            async with asyncio.timeout(self._patience):
                await send(message)

        headers = Headers(scope=scope)
        refused = self._refusal(scope["method"], scope["path"], headers)
        reply = _refused(refused) if refused is not None else self._admission(scope, headers)
        try:
            await (self.app if reply is None else reply)(scope, patient, bound)
        except TimeoutError:
            if not answered:
                late = _refused(f"nothing came for {self._patience:g} seconds", status=408)
                late.headers["Connection"] = "close"
                await late(scope, receive, bound)

    def _admission(self, scope: Scope, headers: Headers) -> Response | None:
        """None for who has the token's cookie; a cookie for who has the token; a refusal for everybody else."""
        if self._token is None:
            return None
        name = _cookie_name(headers.get("host", ""))
        if _same(_cookies(headers.get("cookie", "")).get(name, ""), self._token):
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and _same(given, self._token):
            # The address goes without the token from here on: it stays out of links, screenshots and titles.
            welcome = RedirectResponse("/", status_code=303)
            # Lax: a link to a query works wherever it stands; requests that change something have their origin checked.
            welcome.set_cookie(name, self._token, httponly=True, samesite="lax", path="/")
            return welcome
        if scope["path"] == "/":
            return HTMLResponse(_STRANGER, status_code=403)
        return _refused(
            "this page does not belong to the studio that is running now",
            "open the address that greta studio printed in its terminal; it ends in a token",
        )

    def _refusal(self, method: str, path: str, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if not self._known(_name_of(host)):
            return f"the studio does not answer to the name {host or 'nobody'}"
        site = headers.get("sec-fetch-site", "none")
        if path.startswith("/api/") and site not in ("same-origin", "none"):
            return "this request comes from another web site"
        if method in ("GET", "HEAD"):
            return None
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "this request comes from another web site"
        # A page of another site cannot send these types without asking first, and is never allowed to.
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if method != "DELETE" and kind not in ("application/json", "application/octet-stream"):
            return "requests to the studio are JSON, or bytes of a file"
        return None

    def _known(self, name: str) -> bool:
        if name in self._names:
            return True
        if self._local:
            return False
        # A number cannot be pointed elsewhere; only names can.
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


_STRANGER = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>greta studio</title>
<h1>greta studio</h1>
<p>Open the address that <code>greta studio</code> printed in its terminal: it ends in a token, which keeps other users
of this machine out. Started anew, the studio has a new one.</p></html>
"""


def _refused(message: str, hint: str | None = None, status: int = 403) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "hint": hint}}, status_code=status)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header).items()}
    except CookieError:
        return {}


def _cookie_name(host: str) -> str:
    """Cookies do not know ports, and there may be a studio on each.

    >>> _cookie_name("127.0.0.1:8400"), _cookie_name("[::1]:9000"), _cookie_name("localhost")
    ('greta-studio-8400', 'greta-studio-9000', 'greta-studio-80')
    """
    port = host.rpartition("]")[2].rpartition(":")[2]
    return f"greta-studio-{port if port.isdigit() else 80}"


def _name_of(host: str) -> str:
    """The host without its port, in small letters.

    >>> _name_of("LocalHost:8400"), _name_of("[::1]:8400"), _name_of("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
