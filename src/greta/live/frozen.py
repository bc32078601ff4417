"""An online graph ↔ bytes, all but its heap: what another process needs to go on with the same heap.

The heap is large and holds no address, so it can lie in a file that processes map one after the other
(``greta.live.cache``). What is around it is small: numbers of partitions and instances, results, and what words are
numbered by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.engine.blobs import from_bytes, to_bytes
from greta.live.choice import new_graph
from greta.live.graphs import Graph
from greta.live.keys import keys_of
from greta.live.packing import pack, unpack
from greta.live.partitions import Partitions
from greta.live.program import Program

_OF_PARTITIONS = ("rows", "base", "last", "barriers", "instances", "instance")
"""Arrays of ``Partitions`` that are stored as they are."""


def freeze(graph: Graph) -> bytes:
    """All of a graph but its memory."""
    parts = graph.partitions
    arrays: dict[str, NDArray[Any]] = {name: getattr(parts, name) for name in _OF_PARTITIONS}
    arrays["numbers"] = parts.all_numbers()
    arrays["unused_partitions"] = np.array(parts.unused_partitions, dtype=np.int64)
    arrays["unused_instances"] = np.array(parts.unused_instances, dtype=np.int64)
    # Places are tuples of several lengths: all their numbers in a row, and how long each is.
    places = list(parts.place.values())
    arrays["place_of"] = np.fromiter(parts.place, dtype=np.int64, count=len(places))
    arrays["place_lengths"] = np.array([len(place) for place in places], dtype=np.int64)
    arrays["place_numbers"] = np.array([number for place in places for number in place], dtype=np.int64)
    arrays |= graph.arrays()
    header = {
        "first": graph.first,
        "origin": graph.origin,
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
    }
    keys = to_bytes(parts.keys(graph.program.job))
    return pack(header, [keys, *(np.ascontiguousarray(array).tobytes() for array in arrays.values())])


def thaw(program: Program, memory: NDArray[np.float64], frozen: bytes) -> Graph:
    """The graph again, over the same memory or a copy of it."""
    header, (keys, *blobs) = unpack(frozen)
    arrays = {
        name: np.frombuffer(blob, dtype).reshape(shape).copy()
        for (name, dtype, shape), blob in zip(header["arrays"], blobs, strict=True)
    }
    graph = new_graph(program, memory.nbytes, memory)
    graph.first, graph.origin = header["first"], header["origin"]
    graph.restore_arrays(arrays)
    _restore(graph.partitions, keys_of(program.job, from_bytes(keys)), arrays)
    return graph


def copied(graph: Graph) -> Graph:
    """The same graph in memory of its own."""
    memory = np.empty(max(graph.most_bytes // 8, 1024))
    memory[: len(graph.heap)] = graph.heap
    return thaw(graph.program, memory, freeze(graph))


def _restore(parts: Partitions, keys: list[tuple[Any, ...]], arrays: dict[str, NDArray[Any]]) -> None:
    for name in _OF_PARTITIONS:
        setattr(parts, name, arrays[name])
    parts.key = dict(zip(arrays["numbers"].tolist(), keys, strict=True))
    parts.of_key = {key: number for number, key in parts.key.items()}
    parts.unused_partitions = arrays["unused_partitions"].tolist()
    parts.unused_instances = arrays["unused_instances"].tolist()
    numbers, at = arrays["place_numbers"].tolist(), 0
    for instance, length in zip(arrays["place_of"].tolist(), arrays["place_lengths"].tolist(), strict=True):
        place = tuple(numbers[at : at + length])
        at += length
        parts.place[instance] = place
        if parts.keyed[place[0]]:
            parts.of_place[place] = instance
