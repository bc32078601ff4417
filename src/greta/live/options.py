"""What a stream is asked for besides its queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from greta.engine.job import Numbers

Emit = Literal["final", "update"]
"""Rows when their windows end, or also rows of open windows whenever they change."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a stream; a snapshot carries them."""

    time: str = "time"
    type: str = "type"
    numbers: Numbers = "double"
    lateness: int = 0
    """In nanoseconds."""
    emit: Emit = "final"
