"""A listening socket → the studio served on it, to clients that keep their side of the conversation.

uvicorn waits for ever for a client that connects and says nothing, or half a request. Here a connection has
``PATIENCE_SECONDS`` for the head of each request; the guard looks after bodies and answers; and the system's own probes
(``SO_KEEPALIVE``) find peers that are gone without a word.
"""

from __future__ import annotations

import asyncio
import socket

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from greta.studio.guard import PATIENCE_SECONDS


class PunctualProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose request head does not come in time."""

    patience = PATIENCE_SECONDS
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came; stop waiting once the head of a request is whole."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()

    def on_response_complete(self) -> None:
        """Wait for the next request on this connection."""
        super().on_response_complete()
        if self._due is None:
            self._expect()

    def _expect(self) -> None:
        self._due = self.loop.call_later(self.patience, self._give_up)

    def _stop(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        self._due = None
        if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
            self.transport.close()


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Answer until the process is told to end."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    config = uvicorn.Config(app, http=PunctualProtocol, ws="none", log_level="warning", server_header=False)
    uvicorn.Server(config).run(sockets=[listener])
