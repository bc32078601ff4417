"""One studio for all tests of a module, one browser for all modules: both take a while to warm up."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from greta.studio.app import create_app
from greta.studio.session import Settings
from support.axe import source
from support.browser import Page

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


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a stream, which the studio in the browser follows; it is not there before the stream starts."""
    return tmp_path_factory.mktemp("output") / "trends"


@pytest.fixture(scope="session")
def address(directory: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "greta.cli", "studio", "--no-browser", "--port", "0", "--follow", str(directory)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as studio:
        assert studio.stderr is not None
        yield studio.stderr.readline().split()[2]
        studio.send_signal(signal.SIGINT)
        said = studio.stderr.read()
        assert studio.wait(timeout=20) == 0
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def browser(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    pytest.importorskip("selenium", reason="selenium is not installed")
    browser = Page(address, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.driver.quit()


@pytest.fixture(scope="session")
def axe(pytestconfig: pytest.Config) -> str:
    cache = pytestconfig.cache
    assert cache is not None
    script = source(cache.mkdir("axe"))
    if script is None:
        pytest.skip("axe-core is not here and npm cannot bring it")
    return script


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """The page, of which no test leaves an error on the browser's console behind."""
    browser.size(1280, 1000)
    yield browser
    assert browser.problems() == []
