"""Connections that say nothing, or half of something, end; those that talk go on."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from greta.studio.serving import PunctualProtocol


class Hasty(PunctualProtocol):
    patience = 0.3


def slow(_request: object) -> PlainTextResponse:
    time.sleep(0.8)
    return PlainTextResponse("done")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    app = Starlette(routes=[Route("/", lambda _: PlainTextResponse("page")), Route("/slow", slow)])
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=Hasty, ws="none", log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()


def heard(port: int, *said: bytes, pause: float = 0.0) -> bytes:
    """All that the server answers until it closes the connection; it must do so within five seconds."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        for piece in said:
            connection.sendall(piece)
            time.sleep(pause)
        answer = b""
        while piece := connection.recv(4096):
            answer += piece
        return answer


@pytest.mark.parametrize("said", [[], [b"GET / HT"], [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:"]])
def test_a_request_that_never_becomes_whole_is_hung_up_on(port: int, said: list[bytes]) -> None:
    assert heard(port, *said) == b""


def test_a_head_that_drips_in_byte_by_byte_gains_no_time(port: int) -> None:
    began = time.monotonic()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        heard(port, *[b"G"] * 60, pause=0.05)
    assert time.monotonic() - began < 3


def test_an_answer_may_take_longer_than_a_request_head(port: int) -> None:
    answer = heard(port, b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"done")


def test_a_connection_that_is_kept_takes_another_request(port: int) -> None:
    request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    assert heard(port, request, request, pause=0.1).count(b"200 OK") == 2
