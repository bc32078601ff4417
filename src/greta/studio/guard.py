"""Who may talk to the studio: requests of its own page, and of nobody else.

A web site that the user visits at the same time can send requests to this machine, under its own name (which
``Origin`` and ``Sec-Fetch-Site`` give away) or under a name that it points at this machine (which ``Host``
gives away). Both are refused. The page itself may load and run nothing but the studio's own files.
"""

from __future__ import annotations

import ipaddress
import socket

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    """What a page may load: the studio's files, and the style sheets of the editor, which knows the nonce."""
    style = "'self'" if nonce is None else f"'self' 'nonce-{nonce}'"
    return (
        f"default-src 'none'; script-src 'self'; style-src {style}; img-src 'self'; connect-src 'self'; "
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
    """ASGI middleware: refuses strangers, adds the headers that bind the page."""

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1") -> None:
        self.app = app
        self._local = is_loopback(host)
        self._names = _LOOPBACK if self._local else {*_LOOPBACK, host.lower(), socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def bound(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault(_POLICY, policy())
            await send(message)

        reason = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        if reason is None:
            await self.app(scope, receive, bound)
        else:
            refusal = JSONResponse({"error": {"message": reason, "hint": None}}, status_code=403)
            await refusal(scope, receive, bound)

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


def _name_of(host: str) -> str:
    """The host without its port, in small letters.

    >>> _name_of("LocalHost:8400"), _name_of("[::1]:8400"), _name_of("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
