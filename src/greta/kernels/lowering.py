"""From Numba's form of a function to LLVM's, with less of what LLVM would only take out again.

Numba counts references to what a function is handed as if it could go away meanwhile, keeps every variable that lives
longer than a line without jumps in memory, and takes tuples apart that it has just put together. For a tuple of sixty
arrays each is hundreds of instructions, most of all that kernels were made of: written as text, read, and optimised
away.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite.ir import IRBuilder
from llvmlite.ir.instructions import ExtractValue, GEPInstr, InsertValue, LoadInstr, PhiInstr
from numba.core import cgutils, ir, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.lowering import Lower
from numba.np import arrayobj

_values: Any = cgutils
_arrays: Any = arrayobj

_READING = (ExtractValue, InsertValue, LoadInstr, GEPInstr)
"""Instructions that do nothing when nothing takes what they give."""

_Place = tuple[int, int]
"""A block, and which of its statements."""


class Lowering(Lower):
    """Numba's own, without counts of what callers hold, and without memory for what is set once."""

    def init(self) -> None:
        """Look through the function before anything is lowered."""
        super().init()  # type: ignore[no-untyped-call]
        self._borrowed: set[str] = set()
        if self.func_ir.func_id.is_generator:
            return
        variables = _Variables(dict(self.blocks))
        self._borrowed = self._find_borrowed(variables)
        self._singly_assigned_vars |= {name for name in variables.set_before_use() if not self._counted(name)}

    def setup_function(self, fndesc: Any) -> None:
        """As Numba does it, with a builder of our own."""
        super().setup_function(fndesc)  # type: ignore[no-untyped-call]
        self.builder = _Builder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)

    def lower_normal_function(self, fndesc: Any) -> None:
        """As Numba does it, and without what is put together for nothing."""
        super().lower_normal_function(fndesc)  # type: ignore[no-untyped-call]
        _leave_out_unread(self.function)

    def lower_inst(self, inst: Any) -> None:
        """Lower one statement; what callers hold is neither counted nor let go."""
        if isinstance(inst, ir.Del) and not self._counted(inst.value):
            return
        if isinstance(inst, ir.Assign) and inst.target.name in self._borrowed:
            with self._uncounted():
                super().lower_inst(inst)  # type: ignore[no-untyped-call]
        else:
            super().lower_inst(inst)  # type: ignore[no-untyped-call]

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Set a variable; what it held before is let go if it was counted."""
        if name in self._singly_assigned_vars or self._counted(name):
            super().storevar(value, name, argidx=argidx)  # type: ignore[no-untyped-call]
        else:
            self.builder.store(value, self.getvar(name))  # type: ignore[no-untyped-call]

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """One number of an array, read without a copy of what describes the array."""
        kind, places = self._kind(value.name), _one_place(signature.args)
        if not places or kind != signature.args[0] or signature.return_type != kind.dtype or self._checked():
            return super().lower_getitem(resty, expr, value, index, signature)  # type: ignore[no-untyped-call]
        where = self._pointer(value, index, signature.args[1])
        found = _arrays.load_item(self.context, self.builder, kind, where)
        return self.context.cast(self.builder, found, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """One number of an array, written without a copy of what describes the array."""
        kind, places = self._kind(target_var.name), _one_place(signature.args)
        if not places or kind != signature.args[0] or self._checked():
            return super().lower_setitem(target_var, index_var, value_var, signature)  # type: ignore[no-untyped-call]
        where = self._pointer(target_var, index_var, signature.args[1])
        given = self._cast_var(value_var, signature.args[2])  # type: ignore[no-untyped-call]
        given = self.context.cast(self.builder, given, signature.args[2], kind.dtype)
        _arrays.store_item(self.context, self.builder, kind, given, where)
        return None

    def _pointer(self, array_var: Any, index_var: Any, index_type: Any) -> Any:
        """Where one number of an array is."""
        context, builder, kind = self.context, self.builder, self._kind(array_var.name)
        array, index = self.loadvar(array_var.name), self._cast_var(index_var, index_type)  # type: ignore[no-untyped-call]
        model = context.data_model_manager[kind]
        data = model.get(builder, array, "data")
        shape = _values.unpack_tuple(builder, model.get(builder, array, "shape"), kind.ndim)
        in_tuple = isinstance(index_type, types.BaseTuple)
        indices = _values.unpack_tuple(builder, index, kind.ndim) if in_tuple else (index,)
        axes = zip(_axes(index_type), indices, shape, strict=True)
        places = [_arrays.fix_integer_index(context, builder, *axis) for axis in axes]
        if kind.ndim == 1 and kind.layout == "C":
            return builder.gep(data, places)
        strides = _values.unpack_tuple(builder, model.get(builder, array, "strides"), kind.ndim)
        return _values.get_item_pointer2(context, builder, data, shape, strides, kind.layout, places)

    def _kind(self, name: str) -> Any:
        return self.typeof(name)  # type: ignore[no-untyped-call]

    def _checked(self) -> bool:
        return bool(self.context.enable_boundscheck)

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
        return self._holds_memory(name)

    def _find_borrowed(self, variables: _Variables) -> set[str]:
        """Variables that only ever hold arguments or fields of them, which callers keep until the function ends."""
        borrowed = set(variables.values)
        left = {""}
        while left:
            left = {
                name
                for name in borrowed
                if not all(self._borrows(name, value, borrowed) for value in variables.values[name])
            }
            borrowed -= left
        return borrowed

    def _borrows(self, name: str, value: Any, borrowed: set[str]) -> bool:
        """Whether a variable that is set to ``value`` holds what a caller keeps, if ``borrowed`` ones do."""
        kind = self._kind(name)
        if isinstance(value, ir.Arg):
            return bool(self._kind(f"arg.{value.name}") == kind)
        if isinstance(value, ir.Var):
            return value.name in borrowed and self._kind(value.name) == kind
        if not isinstance(value, ir.Expr):
            return False
        if value.op in ("getattr", "static_getitem", "exhaust_iter"):
            source = value.value.name
            return source in borrowed and isinstance(self._kind(source), types.BaseTuple)
        if value.op == "build_tuple" or (
            value.op == "call" and isinstance(self._kind(value.func.name), types.NamedTupleClass)
        ):
            held = [variable.name for variable in value.list_vars()]  # type: ignore[no-untyped-call]
            if value.op == "call":
                held.remove(value.func.name)
            return all(part in borrowed or not self._holds_memory(part) for part in held)
        return False

    def _holds_memory(self, name: str) -> bool:
        return bool(self.context.data_model_manager[self._kind(name)].contains_nrt_meminfo())


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
        """Variables set in one place, which is lowered, and passed by each call, before any that reads them."""
        above = compute_cfg_from_blocks(self._blocks).dominators()  # type: ignore[no-untyped-call]

        def later(place: _Place, than: _Place) -> bool:
            return place > than and (place[0] == than[0] or than[0] in above[place[0]])

        return {
            name
            for name, values in self.values.items()
            if len(values) == 1 and all(later(place, self._set[name]) for place in self._read[name])
        }


class _Builder(IRBuilder):  # type: ignore[misc]
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


def _one_place(arguments: Sequence[Any]) -> bool:
    """Whether an array of plain numbers and an index of one place in it are asked for."""
    kind, index = arguments[:2]
    if not isinstance(kind, types.Array) or not isinstance(kind.dtype, types.Number | types.Boolean):
        return False
    axes = _axes(index)
    return len(axes) == kind.ndim and all(isinstance(axis, types.Integer) for axis in axes)


def _axes(index: Any) -> Sequence[Any]:
    """The types of an index, one for each axis."""
    return index if isinstance(index, types.BaseTuple) else (index,)  # type: ignore[return-value]


def _leave_out_unread(function: Any) -> None:
    """Take out instructions that read or put together what nothing takes, as text of a tuple's type is long."""
    taken = Counter(id(value) for block in function.blocks for one in block.instructions for value in _takes(one))
    for block in reversed(function.blocks):
        kept = []
        for one in reversed(block.instructions):
            if type(one) in _READING and not taken[id(one)]:
                taken.subtract(id(value) for value in _takes(one))
            else:
                kept.append(one)
        block.instructions[:] = reversed(kept)


def _takes(instruction: Any) -> Sequence[Any]:
    """The values that an instruction takes."""
    if isinstance(instruction, PhiInstr):
        return [value for value, _ in instruction.incomings]
    return instruction.operands  # type: ignore[no-any-return]
