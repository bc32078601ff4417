"""Numbers of what events agree on: the same for the same values in every push, whatever is forgotten meanwhile."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import greta
from greta.engine import texts
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.kernels.numbering import number_rows
from greta.live.numbering import Lookup, Values

WORDS = st.lists(st.lists(st.sampled_from(["", "a", "b", "ab", "ba", "é", "a\0", "x" * 40]), max_size=12), max_size=6)
ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)), max_size=40)


@given(WORDS)
def test_a_word_has_one_number_in_all_pushes(pushes: list[list[str]]) -> None:
    values, known = Values(), dict[str, int]()
    for words in pushes:
        numbers = values.codes(pa.array(words, pa.string()), pa.string()).tolist()
        for word, number in zip(words, numbers, strict=True):
            assert known.setdefault(word, number) == number
    assert len(set(known.values())) == len(known)


def test_a_word_that_was_forgotten_gets_a_number_that_no_other_had() -> None:
    values = Values()
    before = values.codes(pa.array([f"word {at}" for at in range(5_000)]), pa.string())
    values.forget_some(0)
    after = values.codes(pa.array(["word 7", "another"]), pa.string())
    assert not set(after.tolist()) & set(before.tolist())


def test_words_are_forgotten_before_their_letters_are_too_many_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_MOST_LETTERS", 20)
    values, known = Values(), dict[int, str]()
    for at in range(30):
        words = ["another word", f"word {at}"]
        for number, word in zip(values.codes(pa.array(words), pa.string()).tolist(), words, strict=True):
            assert known.setdefault(number, word) == word
        assert values.texts.words.offsets[values.texts.count] <= 20


def test_an_event_of_no_type_is_of_none_whatever_letters_lie_below_it() -> None:
    schema = pa.schema({"type": pa.string(), "time": pa.int64()})
    job = StreamJob.of(Job.bind("RETURN COUNT(*) PATTERN A+", schema))
    validity, plain = pa.array([False, True, True]).buffers()[1], pa.array(["A", "B", "A"]).buffers()
    types = pa.Array.from_buffers(pa.string(), 3, [validity, *plain[1:]])
    for form in (types, pa.DictionaryArray.from_arrays([0, 1, 2], types)):
        assert relevant(job, pa.table({"type": form, "time": [1, 2, 3]}))[1].tolist() == [False, False, True]


def test_slices_of_text_are_read_from_where_they_begin() -> None:
    values, words = Values(), pa.array(["one", "two", "three", "two"])
    assert values.codes(words.slice(1, 3), pa.string()).tolist() == [0, 1, 0]


def test_integers_beyond_64_bits_are_numbered_in_pushes_without_them_too() -> None:
    values, type_ = Values(), pa.uint64()
    small = values.codes(pa.array([3, 5], pa.int64()), type_)
    large = values.codes(pa.array([5, 2**63], pa.decimal256(76, 0)), type_)
    assert large[0] == small[1]
    assert large[1] not in small


@given(ROWS, st.integers(0, 39))
def test_equal_rows_have_one_number_and_null_has_none(rows: list[tuple[int, int]], missing: int) -> None:
    codes = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
    null = np.arange(len(rows)) == missing
    numbers, example = number_rows(codes, null)
    assert [number < 0 for number in numbers] == null.tolist()
    assert [rows[example[number]] for number in numbers if number >= 0] == [
        row for row, none in zip(rows, null, strict=True) if not none
    ]
    assert len({rows[at] for at in example.tolist()}) == len(example)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60)), max_size=200))
def test_a_lookup_finds_what_was_put_and_not_what_was_forgotten(steps: list[tuple[bool, int]]) -> None:
    lookup, known, unused = Lookup(2), dict[int, int](), list(range(300))
    for put, value in steps:
        if put and value not in known:
            known[value] = unused.pop()
            lookup.put(np.array([[value], [-value]]), np.array([known[value]]))
        elif not put and value in known:
            number = known.pop(value)
            unused.append(number)
            lookup.forget(np.array([number]))
        every = np.arange(61)
        assert lookup.find(np.stack((every, -every))).tolist() == [known.get(one, -1) for one in range(61)]


KEYS: dict[str, tuple[pa.DataType, list[object]]] = {
    "text": (pa.string(), ["a", "b", "", "a longer one"]),
    "long text": (pa.large_string(), ["a", "b", "", "a longer one"]),
    "floats": (pa.float64(), [0.0, -0.0, 1.5, float("nan")]),
    "truth": (pa.bool_(), [True, False]),
    "days": (pa.date32(), [date(2024, 1, 1), date(1960, 5, 5)]),
    "instants": (pa.timestamp("us", "UTC"), [datetime(2024, 1, 1, tzinfo=UTC), datetime(1960, 5, 5, tzinfo=UTC)]),
    "small": (pa.int8(), [-1, 0, 1]),
    "wide": (pa.uint64(), [0, 3, 2**63, 2**64 - 1]),
    "decimals": (pa.decimal128(20, 2), [Decimal("0.10"), Decimal("3.00"), Decimal("-1.25")]),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_any_type_that_come_and_go_give_the_rows_of_a_batch(kind: str) -> None:
    type_, values = KEYS[kind]
    random = np.random.default_rng(5)
    events = pa.table(
        {
            "type": ["A"] * 400,
            "time": np.cumsum(random.choice([0, 1, 9], 400, p=[0.3, 0.6, 0.1])),
            "key": pa.array([values[at] for at in random.integers(0, len(values), 400)], type_),
            "x": random.integers(0, 5, 400),
        }
    )
    query = (
        "RETURN key, COUNT(*) PATTERN A+ WHERE [key] AND A.x < NEXT(A).x GROUP-BY key WITHIN 4 seconds SLIDE 2 seconds"
    )
    stream = greta.stream(query)
    rows = [stream.push(events.slice(at, 7)) for at in range(0, 400, 7)]
    assert_same_rows(pa.concat_tables([*rows, stream.close()]), greta.aggregate(events, query))


def assert_same_rows(got: pa.Table, wanted: pa.Table) -> None:
    order = [(name, "ascending") for name in ("window_start", "key")]
    assert got.num_rows > 50
    assert got.sort_by(order).to_pylist() == wanted.sort_by(order).to_pylist()
