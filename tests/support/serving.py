"""What tests do with a studio's server, without a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.testclient import TestClient

Finish = Callable[..., dict[str, Any]]
"""Runs a query over a source and waits for its end."""


def upload(client: TestClient, name: str, content: bytes) -> Any:
    """The answer to a file that is sent."""
    return client.post(
        "/api/uploads",
        params={"name": name},
        content=content,
        headers={"Content-Type": "application/octet-stream"},
    )
