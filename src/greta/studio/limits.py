"""What the studio refuses to do, and how much of a result it draws; the page states these numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits in one place; ``upload_bytes`` can be chosen on the command line."""

    upload_bytes: int = 200 * MEGABYTE
    uploads_kept: int = 4
    query_characters: int = 20_000
    runs_at_once: int = 2
    runs_kept: int = 10
    answer_seconds: float = 20.0
    """How long a question about a query, a file or a window may take before its process is ended."""
    trends_seconds: float = 300.0
    """The same for trends: the first time ever, kernels are compiled for them."""
    trends_shown: int = 5
    page_rows: int = 50
    series: int = 8
    points: int = 1_000
    """Windows per chart; beyond that, neighbouring windows share a point that shows their largest value."""
    graph_events: int = 60
    graph_trends: int = 2_000

    def to_dict(self) -> dict[str, float]:
        """For the page."""
        return asdict(self)


LIMITS = Limits()
