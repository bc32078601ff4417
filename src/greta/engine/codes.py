"""Order-preserving 64-bit codes: numbers, text, booleans and timestamps compare as plain integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.tables import WIDE, as_type, contiguous, without_nulls
from greta.kernels.layout import NOTHING

if TYPE_CHECKING:
    from greta.engine.values import Value

Codes = NDArray[np.int64]
Decoder = Callable[[Codes], pa.Array]

_SAFE = 2**62
"""Integers beyond this are ranked instead, so that a code plus or minus one never overflows."""


def as_array(value: Value, length: int) -> pa.Array:
    """A constant becomes a column of itself."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, length)
    return contiguous(value)


def encode(array: pa.Array) -> tuple[Codes, Decoder]:
    """Codes of a column, and the way back from codes to values."""
    (codes,), decode = encode_together(array)
    return codes, decode


def encode_together(*arrays: pa.Array) -> tuple[list[Codes], Decoder]:
    """Codes of several columns that can be compared with each other; time stamps are of one type."""
    types = {array.type for array in arrays}
    if any(pa.types.is_string(type_) for type_ in types):
        return _ranked(arrays, pa.string())
    if any(pa.types.is_floating(type_) for type_ in types):
        return [_float_codes(_double(array)) for array in arrays], _decode_floats
    if any(pa.types.is_decimal(type_) for type_ in types):
        return _decimal_codes(arrays)
    if pa.types.is_timestamp(arrays[0].type):
        type_ = arrays[0].type
        plain = [array.view(pa.int64()) for array in arrays]
        return [_plain_codes(array) for array in plain], lambda codes: pa.array(codes).cast(type_)
    if any(pa.types.is_duration(type_) for type_ in types):
        plain = [array.cast(pa.duration("ns")).view(pa.int64()) for array in arrays]
        return [_plain_codes(array) for array in plain], lambda codes: pa.array(codes).cast(pa.duration("ns"))
    if types == {pa.bool_()}:
        return [_plain_codes(array.cast(pa.int64())) for array in arrays], lambda codes: pa.array(codes == 1)
    whole = [as_type(array, pa.int64()) for array in arrays]
    if any(_exceeds(array) for array in whole):
        return _ranked(whole, pa.int64())
    return [_plain_codes(array) for array in whole], lambda codes: pa.array(codes, type=pa.int64())


def are_plain(array: pa.Array) -> bool:
    """Whether integers are their own codes: none is too large for that."""
    return not pa.types.is_integer(array.type) or not _exceeds(array)


def _double(array: pa.Array) -> pa.Array:
    return array if pa.types.is_float64(array.type) else array.cast(pa.float64(), safe=False)


def _exceeds(array: pa.Array) -> bool:
    extremes = pc.min_max(array)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    return low is not None and (low < -_SAFE or high > _SAFE)


def _plain_codes(array: pa.Array) -> Codes:
    return without_nulls(array, int(NOTHING))


def _float_codes(array: pa.Array) -> Codes:
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    codes = double_codes(without_nulls(array, 0.0))
    if nulls is not None:
        codes[nulls] = NOTHING
    return codes


def double_codes(numbers: NDArray[np.float64]) -> Codes:
    """Integers in the order of the doubles."""
    bits = (numbers + 0.0).view(np.int64)  # -0.0 and 0.0 are one value
    codes = bits >> 63
    codes &= np.int64(2**63 - 1)
    codes ^= bits
    return codes


def _decode_floats(codes: Codes) -> pa.Array:
    bits = codes ^ ((codes >> 63) & np.int64(2**63 - 1))
    return pa.array(bits.view(np.float64))


def _decimal_codes(arrays: tuple[pa.Array, ...]) -> tuple[list[Codes], Decoder]:
    """Decimals and integers as places among all values, none of them rounded."""
    if len({array.type for array in arrays}) == 1:
        return _ranked(arrays, arrays[0].type)
    scale = max(getattr(array.type, "scale", 0) for array in arrays)
    try:
        return _ranked(arrays, pa.decimal256(WIDE.precision, scale))
    except pa.ArrowInvalid:
        # Numbers with so many digits on both sides of the point that no type holds all of them.
        lists = [array.to_pylist() for array in arrays]
        values = sorted({value for values in lists for value in values if value is not None})
        place = {value: at for at, value in enumerate(values)} | {None: int(NOTHING)}
        codes = [np.array([place[value] for value in values], dtype=np.int64) for values in lists]
        return codes, lambda chosen: pa.array([values[at] for at in chosen.tolist()])


def _ranked(arrays: tuple[pa.Array, ...] | list[pa.Array], type_: pa.DataType) -> tuple[list[Codes], Decoder]:
    """Codes as places in the sorted list of all values."""
    if not sum(map(len, arrays)):
        # Arrow drops empty chunks on encoding.
        return [np.empty(0, dtype=np.int64) for _ in arrays], lambda _: pa.array([], type=type_)
    encoded = pa.chunked_array([array.cast(type_) for array in arrays]).dictionary_encode().unify_dictionaries()
    dictionary = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], type=type_)
    order = pc.sort_indices(dictionary)
    rank = np.empty(len(dictionary) + 1, dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(dictionary))
    rank[-1] = NOTHING
    values = dictionary.take(order)
    codes = [rank[without_nulls(chunk.indices, len(dictionary))] for chunk in encoded.chunks]
    return codes, lambda wanted: values.take(pa.array(wanted))
