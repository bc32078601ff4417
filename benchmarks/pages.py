"""Pages of measured figures, ``docs/benchmarks-spark.md`` first: a benchmark writes its part, and leaves the others."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks-spark.md"
ORDER = ("Batch", "Steps of a stream", "Streaming", "Delay", "Kafka", "Cluster")
"""Headings, as a reader meets them."""


def write_part(heading: str, text: str, page: Path = PAGE) -> None:
    """Put a part in its place on the page, instead of what was there."""
    before = page.read_text() if page.is_file() else "# Spark, measured\n"
    title, *parts = re.split(r"(?m)^(?=## )", before)
    found = {part.splitlines()[0].removeprefix("## "): part.rstrip() + "\n" for part in parts}
    found[heading] = f"## {heading}\n\n{text.strip()}\n"
    placed = sorted(found, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    page.write_text("\n".join([title.rstrip() + "\n", *(found[name] for name in placed)]))
