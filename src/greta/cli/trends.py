"""``greta run --trends``: which trends are asked for, of which row; and one line that says of which row they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from greta.cli.output import plain

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Wish:
    """Trends of one row of the answer, as ``greta.trends`` is asked for them."""

    n: int
    pick: str
    window: str | None
    group: Mapping[str, str]
    seed: int

    def arguments(self) -> dict[str, Any]:
        """The arguments of ``greta.trends`` and ``greta.spark.trends``."""
        return {
            "n": self.n, "pick": self.pick, "window": self.window, "group": self.group or None, "seed": self.seed
        }  # fmt: skip


def wish(
    trends: int | None, pick: str | None, window: str | None, group: Sequence[str] | None, seed: int | None
) -> Wish | None:
    """What the options ask for; None without ``--trends``, and then its companions are a mistake."""
    if trends is None:
        given = {"--pick": pick, "--window": window, "--group": group, "--seed": seed}
        for option, value in given.items():
            if value:
                raise typer.BadParameter("it says which trends to show: add --trends 3", param_hint=option)
        return None
    pairs = [item.partition("=") for item in group or []]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise typer.BadParameter(f"{name!r} is not NAME=VALUE, such as sector=energy", param_hint="--group")
    return Wish(trends, pick or "sample", window, {name: value for name, _, value in pairs}, seed or 0)


def told(table: pa.Table, wished: Wish) -> str:
    """How many trends there are in a table of them, of which row they are, and how to ask for those of another one."""
    if not table.num_rows:
        return "the answer has no rows, so there are no trends to show"
    first = table.slice(0, 1).to_pylist()[0]
    count = table.column("trend")[-1].as_py() + 1
    # The columns that tell the row come last.
    names = table.column_names[table.column_names.index("window_start") :]
    row = [f"{name.removeprefix('group_')} {plain(first[name])}" for name in names if first[name] is not None]
    said = f"{count} {'trend' if count == 1 else 'trends'} of the row of {', '.join(row) or 'all events'}"
    if not row or wished.window is not None or wished.group:
        return said
    options = ["--window"] if first["window_start"] is not None else []
    options += ["--group"] if names[2:] else []
    return f"{said}: the first one that there is ({' and '.join(options)} choose another)"
