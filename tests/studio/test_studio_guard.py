"""The studio talks to its own page and to nobody else."""

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
