"""Values of trends, e.g. ``LAST(S.price) - FIRST(S.price)``: sums of parts that every trend has, or has not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PartFunction = Literal["COUNT", "SUM", "FIRST", "LAST", "DURATION"]


@dataclass(frozen=True, slots=True)
class Part:
    """A summand of a value of a trend: ``sign`` · COUNT, SUM, FIRST, LAST or DURATION.

    ``variables`` are those it speaks of, all of the pattern's for ``COUNT(*)`` and ``DURATION(*)``.
    """

    function: PartFunction
    variables: frozenset[str]
    attribute: str | None = None
    sign: int = 1

    @property
    def words(self) -> str:
        """The part in words."""
        if self.function == "DURATION":
            return "duration"
        if self.attribute is None:
            return f"number of {listed_variables(self.variables)} events"
        return f"{self.function.lower()} {attribute_of(self.variables, self.attribute)}"


@dataclass(frozen=True, slots=True)
class TrendValue:
    """A number that each trend has, or has not: a sum of parts, e.g. ``LAST(S.price) - FIRST(S.price)``."""

    parts: tuple[Part, ...]

    @property
    def summed(self) -> tuple[str, ...]:
        """The attributes it is made of."""
        return tuple(dict.fromkeys(part.attribute for part in self.parts if part.attribute is not None))

    @property
    def timed(self) -> bool:
        """Whether a length of time is in it."""
        return any(part.function == "DURATION" for part in self.parts)

    @property
    def words(self) -> str:
        """The value in words."""
        signed = [(" - " if part.sign < 0 else " + ") + part.words for part in self.parts]
        return "".join(signed).removeprefix(" + ").strip()


def listed_variables(variables: frozenset[str]) -> str:
    """``S or T``."""
    return " or ".join(sorted(variables))


def attribute_of(variables: frozenset[str], attribute: str) -> str:
    """``S.price``, or ``price of S or T``."""
    return (
        f"{listed_variables(variables)}.{attribute}"
        if len(variables) < 2
        else f"{attribute} of {listed_variables(variables)}"
    )
