"""One studio for all tests of a module: its worker processes take a while to warm up."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from greta.studio.app import Settings, create_app

HOST = "127.0.0.1:8400"


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("followed")


@pytest.fixture(scope="module")
def client(followed: Path) -> Iterator[TestClient]:
    app = create_app(Settings(follow=(followed,)))
    with TestClient(app, base_url=f"http://{HOST}") as client:
        yield client


@pytest.fixture(scope="module")
def finish(client: TestClient) -> Callable[..., dict[str, Any]]:
    """Run a query and wait for its end."""

    def run(query: str, source: dict[str, Any], exact: bool = False) -> dict[str, Any]:
        run = client.post("/api/runs", json={"query": query, "source": source, "exact": exact}).json()
        while run["state"] == "running":
            time.sleep(0.05)
            run = client.get(f"/api/runs/{run['id']}").json()
        return run

    return run
