"""An online graph ↔ bytes, all but its heap: what another process needs to go on with the same heap.

The heap is large and holds no address, so it can lie in a file that processes map one after the other
(``greta.live.cache``). What is around it is small: numbers of partitions and instances, results, and what words are
numbered by.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greta.live.choice import new_graph
from greta.live.graphs import Graph
from greta.live.packing import pack, unpack
from greta.live.program import Program


def freeze(graph: Graph) -> bytes:
    """All of a graph but its memory."""
    arrays = graph.partitions.arrays(graph.program.job) | graph.arrays()
    header = {
        "first": graph.first,
        "origin": graph.origin,
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
    }
    return pack(header, [np.ascontiguousarray(array).tobytes() for array in arrays.values()])


def thaw(program: Program, memory: NDArray[np.float64], frozen: bytes) -> Graph:
    """The graph again, over the same memory or a copy of it."""
    header, blobs = unpack(frozen)
    arrays = {
        name: np.frombuffer(blob, dtype).reshape(shape).copy()
        for (name, dtype, shape), blob in zip(header["arrays"], blobs, strict=True)
    }
    graph = new_graph(program, memory.nbytes, memory)
    graph.first, graph.origin = header["first"], header["origin"]
    graph.restore_arrays(arrays)
    graph.partitions.restore(arrays)
    return graph


def copied(graph: Graph) -> Graph:
    """The same graph in memory of its own."""
    memory = np.empty(max(graph.most_bytes // 8, 1024))
    memory[: len(graph.heap)] = graph.heap
    return thaw(graph.program, memory, freeze(graph))
