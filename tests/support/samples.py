"""Real query texts: the examples and every conformance case."""

import json
from pathlib import Path

_TESTS = Path(__file__).parent.parent


def conformance_queries() -> list[str]:
    """Query texts of all conformance cases, without repetition, in the files' order."""
    files = sorted((_TESTS / "conformance").glob("*.json"))
    return list(dict.fromkeys(case["query"] for file in files for case in json.loads(file.read_text("utf-8"))))


def example_queries() -> list[str]:
    """The texts of ``examples/*.greta``."""
    return [file.read_text("utf-8") for file in sorted((_TESTS.parent / "examples").glob("*.greta"))]
