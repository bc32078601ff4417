"""From Numba's form of a function to LLVM's, with less of what LLVM would only take out again.

Numba counts references to what a function is handed as if it could go away meanwhile, keeps every variable that lives
longer than a line without jumps in memory, and takes tuples apart that it has just put together. For a tuple of sixty
arrays each is hundreds of instructions, most of all that kernels were made of: written as text, read, and optimised
away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite.ir import IRBuilder
from llvmlite.ir.instructions import InsertValue
from numba.core import ir, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.lowering import Lower

_Place = tuple[int, int]
"""A block, and which of its statements."""


class Lowering(Lower):
    """Numba's own, without counts of what callers hold, and without memory for what is set once."""

    def init(self) -> None:
        """Look through the function before anything is lowered."""
        super().init()  # type: ignore[no-untyped-call]
        variables = _Variables(self.blocks)
        self._borrowed = frozenset(self._find_borrowed(variables))
        self._singly_assigned_vars |= {
            name for name in variables.set_before_use() if name in self._borrowed or not self._counted(name)
        }

    def setup_function(self, fndesc: Any) -> None:
        """As Numba does it, with a builder of our own."""
        super().setup_function(fndesc)  # type: ignore[no-untyped-call]
        self.builder = _Builder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)

    def lower_inst(self, inst: Any) -> None:
        """Lower one statement; what callers hold is neither counted nor let go."""
        if isinstance(inst, ir.Del) and not self._counted(inst.value):
            return
        borrows = isinstance(inst, ir.Assign) and inst.target.name in self._borrowed
        if not borrows:
            super().lower_inst(inst)  # type: ignore[no-untyped-call]
            return
        with self._uncounted():
            super().lower_inst(inst)  # type: ignore[no-untyped-call]

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        counts, self.context.enable_nrt = self.context.enable_nrt, False
        try:
            yield
        finally:
            self.context.enable_nrt = counts

    def _counted(self, name: str) -> bool:
        """Whether references to what the variable holds are counted."""
        if not self.context.enable_nrt or name in self._borrowed:
            return False
        return bool(self.context.data_model_manager[self.typeof(name)].contains_nrt_meminfo())

    def _find_borrowed(self, variables: _Variables) -> set[str]:
        """Variables that only ever hold an argument or a field of one, which callers keep until the function ends."""
        borrowed: set[str] = set()
        waiting = {name: values[0] for name, values in variables.values.items() if len(values) == 1}
        grown = True
        while grown:
            more = {name for name, value in waiting.items() if self._borrows(name, value, borrowed)}
            grown = bool(more)
            borrowed |= more
            waiting = {name: value for name, value in waiting.items() if name not in more}
        return borrowed

    def _borrows(self, name: str, value: Any, borrowed: set[str]) -> bool:
        kind = self.typeof(name)
        if isinstance(value, ir.Arg):
            return bool(self.typeof(f"arg.{value.name}") == kind)
        if isinstance(value, ir.Var):
            return value.name in borrowed and self.typeof(value.name) == kind
        if isinstance(value, ir.Expr) and value.op in ("getattr", "static_getitem", "exhaust_iter"):
            source = value.value.name
            return source in borrowed and isinstance(self.typeof(source), types.BaseTuple)
        return False


class _Variables:
    """Where the variables of a function are set and read."""

    def __init__(self, blocks: dict[int, Any]) -> None:
        self.values: dict[str, list[Any]] = defaultdict(list)
        """What each is set to."""
        self._blocks = blocks
        self._set: dict[str, _Place] = {}
        self._read: dict[str, list[_Place]] = defaultdict(list)
        for block, statements in blocks.items():
            for number, statement in enumerate(statements.body):
                self._look(statement, (block, number))

    def _look(self, statement: Any, place: _Place) -> None:
        if isinstance(statement, ir.Del):
            self._read[statement.value].append(place)
            return
        names = [variable.name for variable in statement.list_vars()]
        if isinstance(statement, ir.Assign):
            target = statement.target.name
            self.values[target].append(statement.value)
            self._set[target] = place
            names.remove(target)
        for name in names:
            self._read[name].append(place)

    def set_before_use(self) -> set[str]:
        """Variables that are set in one place, which is lowered, and passed by each call, before any that reads them."""
        above = compute_cfg_from_blocks(self._blocks).dominators()  # type: ignore[no-untyped-call]

        def later(place: _Place, than: _Place) -> bool:
            return place > than and (place[0] == than[0] or than[0] in above[place[0]])

        return {
            name
            for name, values in self.values.items()
            if len(values) == 1 and all(later(place, self._set[name]) for place in self._read[name])
        }


class _Builder(IRBuilder):
    """Writes LLVM's instructions; a field of a tuple just put together is what was put there."""

    def extract_value(self, agg: Any, idx: int | Sequence[int], name: str = "") -> Any:
        """One field of a tuple, of a tuple within it, and so on."""
        path = list(idx) if isinstance(idx, Sequence) else [idx]
        while path and isinstance(agg, InsertValue):
            place = list(agg.indices)
            if place == path[: len(place)]:
                agg, path = agg.value, path[len(place) :]
            elif path == place[: len(path)]:
                break
            else:
                agg = agg.aggregate
        return super().extract_value(agg, path, name=name) if path else agg
