"""Columns of values → Spark's ``xxhash64`` of each row: what is read here goes where it would go if Spark read it.

A row's hash is carried from column to column: the hash after one column is the seed of the next, and NULL leaves it as
it is. Rows with the same values are hashed once, so the cost is that of the distinct ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.tables import contiguous

Words = NDArray[np.uint64]

_SEED = np.uint64(42)
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


def can_hash(type_: pa.DataType) -> bool:
    """Whether columns of this type are hashed here as Spark hashes them."""
    return bool(
        pa.types.is_boolean(type_)
        or pa.types.is_signed_integer(type_)
        or pa.types.is_float32(type_)
        or pa.types.is_float64(type_)
        or pa.types.is_string(type_)
        or pa.types.is_date32(type_)
        or (pa.types.is_timestamp(type_) and type_.unit == "us")
    )


def xxhash64(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> NDArray[np.int64]:
    """Per row Spark's ``xxhash64`` of these columns; without any, that of none.

    >>> xxhash64([pa.array(["greta", None]), pa.array([7, None])], 2).tolist()
    [-7570412226456596676, 42]
    """
    groups, hashes = np.zeros(rows, dtype=np.int64), np.full(1, _SEED)
    for column in columns:
        codes, values = _encoded(contiguous(column))
        # The last code is that of NULL.
        pairs, groups = _numbered(groups * (len(values) + 1) + codes, len(hashes) * (len(values) + 1))
        seeds, code = hashes[pairs // (len(values) + 1)], pairs % (len(values) + 1)
        valid = code < len(values)
        hashes = seeds.copy()
        hashes[valid] = _hashed(values.take(pa.array(code[valid])), seeds[valid])
    return hashes.view(np.int64)[groups]


def _encoded(column: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """(a code per row, the values by code); NULL has the code after the last."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values, indices = encoded.dictionary, encoded.indices
    if values.null_count:
        indices = pc.if_else(pc.is_valid(values).take(indices), indices, None)
    if indices.null_count:
        indices = (
            indices.fill_null(len(values)) if len(values) < 2**7 else indices.cast(pa.int64()).fill_null(len(values))
        )
    return indices.to_numpy(zero_copy_only=False).astype(np.int64), values


def _numbered(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(the codes that occur, per row the place of its own among them); codes are below ``size``."""
    if size > 4 * len(codes) + 1024:
        occurring, places = np.unique(codes, return_inverse=True)
        return occurring, places
    there = np.zeros(size, dtype=bool)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def _hashed(values: pa.Array, seeds: Words) -> Words:
    """Values without NULL, each with a seed of its own."""
    type_ = values.type
    if pa.types.is_string(type_):
        return _of_texts(values, seeds)
    if pa.types.is_boolean(type_):
        return _of_ints(values.cast(pa.int32()).to_numpy(), seeds)
    if pa.types.is_float32(type_):
        return _of_ints(_canonical(values).view(np.int32), seeds)
    if pa.types.is_float64(type_):
        return _of_longs(_canonical(values).view(np.int64), seeds)
    if pa.types.is_date32(type_):
        return _of_ints(values.view(pa.int32()).to_numpy(), seeds)
    if pa.types.is_timestamp(type_) or pa.types.is_int64(type_):
        return _of_longs(values.view(pa.int64()).to_numpy(), seeds)
    return _of_ints(values.cast(pa.int32()).to_numpy(), seeds)


def _canonical(values: pa.Array) -> NDArray[np.floating]:
    """One NaN for all, and one zero."""
    numbers: NDArray[np.floating] = values.to_numpy(zero_copy_only=False) + values.type.to_pandas_dtype()(0)
    numbers[np.isnan(numbers)] = np.nan
    return numbers


def _of_ints(values: NDArray[np.int32], seeds: Words) -> Words:
    return _finished(_last_four(seeds + _P5 + np.uint64(4), values.astype(np.uint32).astype(np.uint64)))


def _of_longs(values: NDArray[np.int64], seeds: Words) -> Words:
    return _finished(_next_eight(seeds + _P5 + np.uint64(8), values.astype(np.uint64)))


def _of_texts(values: pa.Array, seeds: Words) -> Words:
    """Texts of one length are hashed together, as a matrix of their bytes."""
    values = pa.concat_arrays([values])
    _, offsets_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    lengths = np.diff(offsets)
    hashes = np.empty(len(values), dtype=np.uint64)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        places = offsets[:-1][rows].astype(np.int64)[:, None] + np.arange(length)
        hashes[rows] = _of_matrix(data[places], seeds[rows])
    return hashes


def _of_matrix(data: NDArray[np.uint8], seeds: Words) -> Words:
    """Rows of bytes, all of one length."""
    length = data.shape[1]
    whole = length // 8 * 8
    words = np.ascontiguousarray(data[:, :whole]).view("<u8")
    at = 0
    if length >= 32:
        lanes = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
        for stripe in range(length // 32):
            lanes = [_round(lane, words[:, 4 * stripe + number]) for number, lane in enumerate(lanes)]
        at = length // 32 * 4
        one, two, three, four = lanes
        hashes = _turned(one, 1) + _turned(two, 7) + _turned(three, 12) + _turned(four, 18)
        for lane in lanes:
            hashes = (hashes ^ _round(np.uint64(0), lane)) * _P1 + _P4
    else:
        hashes = seeds + _P5
    hashes = hashes + np.uint64(length)
    for place in range(at, words.shape[1]):
        hashes = _next_eight(hashes, words[:, place])
    rest = whole
    if length - rest >= 4:
        hashes = _last_four(hashes, np.ascontiguousarray(data[:, rest : rest + 4]).view("<u4")[:, 0].astype(np.uint64))
        rest += 4
    for place in range(rest, length):
        hashes = _turned(hashes ^ (data[:, place].astype(np.uint64) * _P5), 11) * _P1
    return _finished(hashes)


def _next_eight(hashes: Words, words: Words) -> Words:
    return _turned(hashes ^ _round(np.uint64(0), words), 27) * _P1 + _P4


def _last_four(hashes: Words, words: Words) -> Words:
    return _turned(hashes ^ (words * _P1), 23) * _P2 + _P3


def _round(lane: Words | np.uint64, words: Words) -> Words:
    return _turned(lane + words * _P2, 31) * _P1


def _turned(words: Words, by: int) -> Words:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))


def _finished(hashes: Words) -> Words:
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
    return hashes ^ (hashes >> np.uint64(32))
