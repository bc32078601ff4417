"""Partitions of a stream and the indexes they have: numbers that are given out, and given back when all is closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.frames import Stream
from greta.engine.stream_jobs import StreamJob
from greta.kernels.layout import NOTHING
from greta.kernels.runs import INSTANCE_COLUMNS, LAST, PLACE, SORTED
from greta.live.keys import key_column, keys_of, values_of
from greta.live.numbering import Lookup

Int = NDArray[np.int64]
_NEVER = -(2**62)
_STORED = ("rows", "base", "last", "own_last", "required", "barriers", "instances", "instance")
"""Arrays that are stored as they are."""


@dataclass(slots=True)
class Groups:
    """Numbers of groups that have partitions."""

    numbers: dict[tuple[Any, ...], int] = field(default_factory=dict)
    names: list[tuple[Any, ...]] = field(default_factory=list)
    """Per number: what the group agrees on."""
    members: list[int] = field(default_factory=list)
    """Per number: how many partitions."""
    unused: list[int] = field(default_factory=list)

    def join(self, name: tuple[Any, ...]) -> int:
        """The number of a group, which a partition is in from now on."""
        number = self.numbers.get(name)
        if number is None:
            if not self.unused:
                self.unused.append(len(self.names))
                self.names.append(name)
                self.members.append(0)
            number = self.numbers[name] = self.unused.pop()
            self.names[number] = name
        self.members[number] += 1
        return number

    def leave(self, number: int) -> None:
        """Note that a partition of a group is no more."""
        self.members[number] -= 1
        if not self.members[number]:
            del self.numbers[self.names[number]]
            self.unused.append(number)


@dataclass(slots=True)
class Partitions:
    """Numbers of partitions and of their index instances; arrays grow as they are needed."""

    words: int
    """Numbers in a partition's results."""
    empty: NDArray[np.float64]
    """Results of no trend."""
    kinds: tuple[int, ...]
    """Per order: what its instances are, TOTALS, SORTED_RUNS or LIST."""
    keyed: tuple[bool, ...]
    """Per order: whether it has equalities."""
    negatives: int = 0
    """How many NOTs there are."""
    agreed: tuple[str, ...] = ()
    """The attributes that keys have values of."""
    scoped: bool = False
    """Whether the last of them is a scope's: partitions of one common key are then parts of what it stands for."""
    of_key: dict[tuple[Any, ...], int] = field(default_factory=dict)
    """What events agree on → number."""
    key: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    names: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, dtype=object))
    """Per number the same, for looking up many."""
    parts: dict[tuple[Any, ...], dict[Any, int]] = field(default_factory=dict)
    """Common key → value of the scope (None: trends that have not met it) → number; empty where there is no scope."""
    grouping: tuple[int, ...] = ()
    """The places of GROUP-BY attributes in keys."""
    groups: Groups = field(default_factory=Groups)
    group: Int = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Per partition: the number of its group."""
    of_place: dict[tuple[int, ...], int] = field(default_factory=dict)
    """(order, partition, codes of the equalities…) → instance."""
    place: dict[int, tuple[int, ...]] = field(default_factory=dict)
    lookup: Lookup = field(init=False)
    """Numbers by the codes of what events agree on; of some partitions, since those of a scope have none."""
    rows: NDArray[np.float64] = field(init=False)
    """[partition, slot and lane]: results of its open windows."""
    base: Int = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    last: Int = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    own_last: Int = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Per part with a value: the last window that may hold an event of that value."""
    required: Int = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Per partition: the scopes, as bits, that its trends must have met."""
    barriers: Int = field(init=False)
    """[partition, NOT]: the time of its latest match; of matches that last, the latest start."""
    instances: Int = field(init=False)
    """[partition, order]: the instance of an order without equalities, -1 for the others."""
    instance: Int = field(default_factory=lambda: np.empty((0, INSTANCE_COLUMNS), dtype=np.int64))
    """[instance, column]: what the kernels know of it."""
    unused_partitions: list[int] = field(default_factory=list)
    unused_instances: list[int] = field(default_factory=list)
    touched: list[Int] | None = field(init=False, default=None)
    """Numbers of partitions that events have come for, where somebody asks for them."""
    _numbers: Int | None = field(init=False, default=None)
    """Those of all partitions, once they were asked for."""

    def __post_init__(self) -> None:
        self.rows = np.empty((0, self.words))
        self.lookup = Lookup(len(self.agreed))
        self.instances = np.empty((0, len(self.keyed)), dtype=np.int64)
        self.barriers = np.empty((0, self.negatives), dtype=np.int64)

    def numbers(self, keys: Iterable[tuple[Any, ...]], window: int, last: int) -> Int:
        """The number of each partition, a new one where it is not known.

        ``window`` is the first open one; the partitions are needed until ``last``.
        """
        known = self.of_key
        found = np.array([known[key] if key in known else self._open(key, window) for key in keys], dtype=np.int64)
        self.last[found] = np.maximum(self.last[found], last)
        return found

    def _known(self, job: StreamJob, stream: Stream, rows: Int) -> Int:
        """The number of the partition of each of some events, -1 where there is none."""
        codes, found = self._found(stream, rows)
        new = np.flatnonzero(found < 0)
        if len(new):
            keys = keys_of(job, stream.columns.table.take(pa.array(rows[new])))
            found[new] = [self.of_key.get(key, -1) for key in keys]
            new = new[found[new] >= 0]
            self.lookup.put(codes[:, new], found[new])
        return found

    def numbers_of(self, job: StreamJob, stream: Stream, rows: Int, window: int, last: int) -> Int:
        """As ``numbers``, by an event of each partition: only keys that were not met before are read."""
        codes, found = self._found(stream, rows)
        new = np.flatnonzero(found < 0)
        if len(new):
            keys = keys_of(job, stream.columns.table.take(pa.array(rows[new])))
            found[new] = self.numbers(keys, window, last)
            self.lookup.put(codes[:, new], found[new])
        self.last[found] = np.maximum(self.last[found], last)
        self._touch(found)
        return found

    def _touch(self, numbers: Int) -> None:
        if self.touched is not None:
            self.touched.append(numbers)

    def _found(self, stream: Stream, rows: Int) -> tuple[Int, Int]:
        """(codes of events' keys, numbers of their partitions where these were met with the same codes before)"""
        parts = [part[rows] for part in stream.keys.parts]
        codes = np.stack(parts) if parts else np.zeros((0, len(rows)), dtype=np.int64)
        return codes, self.lookup.find(codes)

    def _open(self, key: tuple[Any, ...], window: int) -> int:
        if not self.unused_partitions:
            self._grow()
        at = self.unused_partitions.pop()
        self._name(key, at)
        self.required[at] = int(self.scoped and key[-1] is not None)
        self.rows[at] = self.empty
        self.base[at], self.last[at], self.own_last[at], self.barriers[at] = window, _NEVER, _NEVER, _NEVER
        for order, keyed in enumerate(self.keyed):
            self.instances[at, order] = -1 if keyed else self._new_instance(order, (order, at))
        return at

    def _name(self, key: tuple[Any, ...], at: int) -> None:
        self.of_key[key], self.key[at], self.names[at] = at, key, key
        self.group[at] = self.groups.join(tuple(key[place] for place in self.grouping))
        self._numbers = None
        if self.scoped:
            self.parts.setdefault(key[:-1], {})[key[-1]] = at

    def alike(self, job: StreamJob, stream: Stream, rows: Int) -> tuple[Int, Int]:
        """(place in rows, number) of partitions with the common keys of some events; of all parts, where there are."""
        if not self.scoped:
            numbers = self._known(job, stream, rows)
            there = np.flatnonzero(numbers >= 0)
            self._touch(numbers[there])
            return there, numbers[there]
        keys = keys_of(job, stream.columns.table.take(pa.array(rows)))
        pairs = [(at, number) for at, key in enumerate(keys) for number in self.parts.get(key, {}).values()]
        each, numbers = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return each, numbers

    def stale(self, window: int) -> tuple[Int, Int]:
        """(parts, their instances) whose value no window from this one on has an event of: they are as one without."""
        numbers = self.all_numbers()
        gone = numbers[(self.required[numbers] != 0) & (self.own_last[numbers] < window)]
        if not len(gone):
            return gone, gone
        parts = set(gone.tolist())
        keyed = [at for place, at in self.of_place.items() if place[1] in parts]
        instances = self.instances[gone].reshape(-1)
        return gone, np.concatenate((instances[instances >= 0], np.array(keyed, dtype=np.int64)))

    def begin_as(self, copies: list[tuple[int, int]]) -> tuple[Int, Int]:
        """Let new partitions begin as others are, (other, new); (instances, empty ones that are to be like them)."""
        instances = [
            (int(self.instances[old, order]), int(self.instances[new, order]))
            for old, new in copies
            for order, keyed in enumerate(self.keyed)
            if not keyed
        ]
        heirs: dict[int, list[int]] = {}
        for old, new in copies:
            self.barriers[new] = self.barriers[old]
            heirs.setdefault(old, []).append(new)
        for place, at in [item for item in self.of_place.items() if item[0][1] in heirs]:
            for new in heirs[place[1]]:
                like = (place[0], new, *place[2:])
                self.of_place[like] = self._new_instance(place[0], like)
                instances.append((at, self.of_place[like]))
        pairs = np.array(instances, dtype=np.int64).reshape(-1, 2)
        return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])

    def _grow(self) -> None:
        had = len(self.base)
        size = max(8, 2 * had)
        self.unused_partitions += range(size - 1, had - 1, -1)
        self.rows = _longer(self.rows, size)
        self.base, self.last = _longer(self.base, size), _longer(self.last, size)
        self.own_last, self.required = _longer(self.own_last, size), _longer(self.required, size)
        self.last[had:] = _NEVER
        self.group, self.names = _longer(self.group, size), _longer(self.names, size)
        self.instances, self.barriers = _longer(self.instances, size), _longer(self.barriers, size)

    def _new_instance(self, order: int, place: tuple[int, ...]) -> int:
        if not self.unused_instances:
            had = len(self.instance)
            size = max(16, 2 * had)
            self.unused_instances += range(size - 1, had - 1, -1)
            self.instance = _longer(self.instance, size)
        at = self.unused_instances.pop()
        self.instance[at] = 0
        self.instance[at, SORTED] = self.kinds[order]
        self.instance[at, PLACE] = -1
        self.instance[at, LAST] = _NEVER
        self.place[at] = place
        return at

    def instances_of(self, order: int, partition: Int, codes: list[Int], needed: int | None) -> Int:
        """Per event: the instance of an order, by its partition and the codes of its equalities; -1 for none.

        Those that are not there are made where they are ``needed`` until a window.
        """
        if not self.keyed[order]:
            result: Int = self.instances[partition, order]
            return result
        together = np.stack((partition, *codes), axis=1)
        distinct, back = np.unique(together, axis=0, return_inverse=True)
        found = np.empty(len(distinct), dtype=np.int64)
        for at, row in enumerate(distinct.tolist()):
            place = (order, *row)
            if int(NOTHING) in row[1:]:
                found[at] = -1
            elif place in self.of_place:
                found[at] = self.of_place[place]
            elif needed is not None:
                found[at] = self.of_place[place] = self._new_instance(order, place)
            else:
                found[at] = -1
        if needed is not None:
            used = found[found >= 0]
            self.instance[used, LAST] = np.maximum(self.instance[used, LAST], needed)
        return found[back.reshape(-1)]

    def all_numbers(self) -> Int:
        """The numbers of all partitions."""
        if self._numbers is None:
            self._numbers = np.fromiter(self.key, dtype=np.int64, count=len(self.key))
        return self._numbers

    def keys(self, job: StreamJob) -> pa.Table:
        """What events agree on, a row per partition in the order of ``all_numbers``."""
        columns = {
            name: key_column([key[at] for key in self.key.values()], job.schema.field(name).type)
            for at, name in enumerate(self.agreed)
        }
        return pa.table({"": pa.nulls(len(self.key)), **columns})

    def arrays(self, job: StreamJob) -> dict[str, NDArray[Any]]:
        """All of it, for ``restore``."""
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in _STORED}
        arrays["numbers"] = self.all_numbers()
        arrays["keys"] = np.frombuffer(to_bytes(self.keys(job)), dtype=np.uint8)
        arrays["unused_partitions"] = np.array(self.unused_partitions, dtype=np.int64)
        arrays["unused_instances"] = np.array(self.unused_instances, dtype=np.int64)
        # Places are tuples of several lengths: all their numbers in a row, and how long each is.
        places = list(self.place.values())
        arrays["place_of"] = np.fromiter(self.place, dtype=np.int64, count=len(places))
        arrays["place_lengths"] = np.array([len(place) for place in places], dtype=np.int64)
        arrays["place_numbers"] = np.array([number for place in places for number in place], dtype=np.int64)
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what ``arrays`` gave."""
        for name in _STORED:
            setattr(self, name, arrays[name])
        self.group, self.names = np.empty(len(self.base), dtype=np.int64), np.empty(len(self.base), dtype=object)
        keys = values_of(self.agreed, from_bytes(arrays["keys"].tobytes()))
        for number, key in zip(arrays["numbers"].tolist(), keys, strict=True):
            self._name(key, number)
        self.unused_partitions = arrays["unused_partitions"].tolist()
        self.unused_instances = arrays["unused_instances"].tolist()
        numbers, at = arrays["place_numbers"].tolist(), 0
        for instance, length in zip(arrays["place_of"].tolist(), arrays["place_lengths"].tolist(), strict=True):
            place = tuple(numbers[at : at + length])
            at += length
            self.place[instance] = place
            if self.keyed[place[0]]:
                self.of_place[place] = instance

    def over(self, window: int) -> tuple[Int, Int]:
        """(partitions, instances) that no window from this one on needs; keyed instances may end by themselves."""
        numbers = self.all_numbers()
        done = numbers[self.last[numbers] < window]
        lists = [self.instances[done].reshape(-1)]
        if any(self.keyed) and self.of_place:
            keyed = np.fromiter(self.of_place.values(), dtype=np.int64, count=len(self.of_place))
            lists.append(keyed[self.instance[keyed, LAST] < window])
        instances = np.concatenate(lists)
        return done, instances[instances >= 0]

    def forget(self, partitions: Int, instances: Int) -> None:
        """Give numbers back; what the kernels keep of the instances must be released already."""
        self.lookup.forget(partitions)
        self._numbers = None
        for at in partitions.tolist():
            key, self.names[at] = self.key.pop(at), None
            del self.of_key[key]
            self.groups.leave(int(self.group[at]))
            self.unused_partitions.append(at)
            if self.scoped:
                parts = self.parts[key[:-1]]
                del parts[key[-1]]
                if not parts:
                    del self.parts[key[:-1]]
        for at in instances.tolist():
            self.of_place.pop(self.place.pop(at), None)
            self.unused_instances.append(at)


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
