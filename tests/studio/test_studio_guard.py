"""The studio talks to its own page and to nobody else."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from greta.studio.guard import Guard

HOST = "127.0.0.1:8400"


def guarded(host: str = "127.0.0.1") -> TestClient:
    routes = [
        Route("/", lambda _: PlainTextResponse("page")),
        Route("/api/x", lambda _: PlainTextResponse("done"), methods=["GET", "POST", "DELETE"]),
    ]
    return TestClient(Guard(Starlette(routes=routes), host), base_url=f"http://{HOST}")


@pytest.mark.parametrize("host", ["127.0.0.1:8400", "localhost:8400", "LOCALHOST", "[::1]:8400"])
def test_the_names_of_this_machine_are_answered(host: str) -> None:
    assert guarded().get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8400", "127.0.0.1.evil.example", "192.168.0.7", ""])
def test_a_name_that_somebody_pointed_at_this_machine_is_refused(host: str) -> None:
    answer = guarded().get("/", headers={"Host": host})
    assert answer.status_code == 403
    assert "does not answer to the name" in answer.json()["error"]["message"]


def test_an_open_studio_answers_to_numbers_and_to_its_own_name_but_to_no_other() -> None:
    client = guarded("0.0.0.0")
    assert client.get("/", headers={"Host": "192.168.0.7:8400"}).status_code == 200
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example", "Content-Type": "application/json"},
        {"Origin": "null", "Content-Type": "application/json"},
        {"Origin": "http://127.0.0.1:9999", "Content-Type": "application/json"},
        {"Sec-Fetch-Site": "cross-site", "Content-Type": "application/json"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {},
    ],
)
def test_what_another_site_can_send_is_refused(headers: dict[str, str]) -> None:
    assert guarded().post("/api/x", headers=headers, content="{}").status_code == 403


def test_another_site_cannot_cancel_or_read() -> None:
    client = guarded()
    assert client.delete("/api/x", headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.get("/api/x", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_the_page_itself_is_let_through() -> None:
    headers = {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    assert guarded().post("/api/x", headers=headers, content="{}").text == "done"


def test_every_answer_forbids_foreign_code() -> None:
    client = guarded()
    for answer in (client.get("/"), client.get("/", headers={"Host": "evil.example"})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


TOKEN = "a-token-of-the-test"
PAGE = {"Origin": f"http://{HOST}", "Content-Type": "application/json"}


def locked() -> TestClient:
    routes = [
        Route("/", lambda _: PlainTextResponse("page")),
        Route("/static/x.js", lambda _: PlainTextResponse("script")),
        Route("/api/x", lambda _: PlainTextResponse("done"), methods=["GET", "POST"]),
    ]
    return TestClient(Guard(Starlette(routes=routes), token=TOKEN), base_url=f"http://{HOST}", follow_redirects=False)


def test_without_the_token_nothing_is_answered_and_the_page_says_where_it_is() -> None:
    client = locked()
    page = client.get("/")
    assert page.status_code == 403
    assert "greta studio</code> printed" in page.text
    for path in ("/static/x.js", "/api/x", "/?token=", "/?token=guess", f"/api/x?token={TOKEN}", "/nowhere"):
        assert client.get(path).status_code == 403
    assert client.post("/api/x", headers=PAGE, content="{}").status_code == 403


def test_the_token_is_traded_for_a_cookie_and_leaves_the_address() -> None:
    client = locked()
    welcome = client.get("/", params={"token": TOKEN})
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
    cookie = welcome.headers["set-cookie"]
    assert cookie.startswith("greta-studio-8400=")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert client.get("/").text == "page"
    assert client.post("/api/x", headers=PAGE, content="{}").text == "done"


@pytest.mark.parametrize(
    "cookie", ["greta-studio-8400=old", f"greta-studio-9000={TOKEN}", "greta-studio-8400=", "=;,\x01"]
)
def test_a_cookie_of_another_studio_opens_nothing(cookie: str) -> None:
    answer = locked().get("/api/x", headers={"Cookie": cookie})
    assert answer.status_code == 403
    assert "printed in its terminal" in answer.json()["error"]["hint"]


def conversation(app: object, messages: list[dict[str, object]]) -> list[dict[str, object]]:
    """What a guarded app sends to a client that sends these messages and then nothing more."""

    async def talk() -> list[dict[str, object]]:
        sent: list[dict[str, object]] = []
        rest = iter(messages)

        async def receive() -> dict[str, object]:
            for message in rest:
                return message
            await asyncio.sleep(60)
            raise AssertionError("nobody waits that long")

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        headers = [(b"host", HOST.encode()), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/api/x", "query_string": b"", "headers": headers}
        await Guard(app, patience=0.05)(scope, receive, send)  # type: ignore[arg-type]
        return sent

    return asyncio.run(talk())


def test_a_body_that_stops_half_way_is_not_waited_for() -> None:
    async def reads(_scope: object, receive: object, _send: object) -> None:
        while (await receive())["more_body"]:  # type: ignore[operator]
            pass

    (start, body) = conversation(reads, [{"type": "http.request", "body": b"{", "more_body": True}])
    assert start["status"] == 408
    assert b"nothing came for 0.05 seconds" in body["body"]  # type: ignore[operator]


def test_a_computation_may_take_longer_than_a_client_may_be_silent() -> None:
    async def works(scope: object, receive: object, send: object) -> None:
        await receive()  # type: ignore[operator]
        await asyncio.sleep(0.2)
        await PlainTextResponse("done")(scope, receive, send)  # type: ignore[arg-type]

    sent = conversation(works, [{"type": "http.request", "body": b"", "more_body": False}])
    assert sent[0]["status"] == 200
