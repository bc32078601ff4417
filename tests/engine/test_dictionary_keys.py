"""Partitions by text that comes as a dictionary: the rows are those of plain text, however odd the dictionary is."""

import pyarrow as pa
import pytest

import greta

QUERY = "RETURN g, COUNT(*) PATTERN A+ WHERE [g] GROUP-BY g"
WORDS = ["x", "y", "x", None, "y", "x"]


def rows(column: pa.Array | pa.ChunkedArray) -> list[tuple[object, ...]]:
    table = pa.table({"type": ["A"] * len(WORDS), "time": list(range(len(WORDS))), "g": column})
    return sorted(tuple(row.values()) for row in greta.aggregate(table, QUERY).to_pylist())


@pytest.mark.parametrize(
    "column",
    [
        pa.array(WORDS).dictionary_encode(),
        # a word twice, and one that no event has
        pa.DictionaryArray.from_arrays([0, 1, 2, None, 1, 0], ["x", "y", "x", "z"]),
        # NULL as a word of the dictionary
        pa.DictionaryArray.from_arrays([0, 1, 0, 2, 1, 0], pa.array(["x", "y", None])),
        # two chunks, each with a dictionary of its own
        pa.chunked_array([pa.array(WORDS[:2]).dictionary_encode(), pa.array(WORDS[2:]).dictionary_encode()]),
    ],
)
def test_a_dictionary_gives_the_partitions_of_its_words(column: pa.Array | pa.ChunkedArray) -> None:
    assert rows(column) == rows(pa.array(WORDS))


def test_a_group_of_several_partitions_is_one_row_though_its_dictionary_has_the_word_twice() -> None:
    twice = pa.DictionaryArray.from_arrays([0, 0, 1, 1], ["a", "a"])
    table = pa.table({"type": ["A"] * 4, "time": [1, 2, 3, 4], "g": twice, "x": [1, 1, 2, 2]})
    query = "RETURN g, COUNT(*) AS n PATTERN A+ WHERE [g, x] GROUP-BY g"
    assert [(row["g"], row["n"]) for row in greta.aggregate(table, query).to_pylist()] == [("a", 6.0)]
