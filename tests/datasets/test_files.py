"""Writing streams: formats, parts, and that no half file is ever seen."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greta import datasets
from greta.errors import DataError

TABLES = [
    pytest.param(datasets.stock(3_000, ties=0.3), id="stock"),
    pytest.param(datasets.traffic(3_000, accidents=2_000), id="traffic"),
    pytest.param(datasets.cluster(3_000), id="cluster"),
]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("table", TABLES)
def test_what_is_written_is_read_back(table, ending, tmp_path):
    path = tmp_path / f"events.{ending}"
    assert datasets.write(table, path) == [path]
    assert datasets.load(path).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_types_survive_the_round_trip(ending, tmp_path):
    table = datasets.stock(3_000)
    datasets.write(table, tmp_path / f"events.{ending}")
    assert datasets.load(tmp_path / f"events.{ending}").schema.types == table.schema.types


def test_batches_and_their_table_make_the_same_file(tmp_path):
    datasets.write(datasets.stock_batches(5_000, chunk=700), tmp_path / "batches.jsonl")
    datasets.write(datasets.stock(5_000), tmp_path / "table.jsonl")
    assert (tmp_path / "batches.jsonl").read_bytes() == (tmp_path / "table.jsonl").read_bytes()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("files", [2, 3, 7])
def test_parts_follow_each_other_in_time_and_differ_by_one_event_at_most(ending, files, tmp_path):
    batches = datasets.cluster_batches(1_000, chunk=123)
    written = datasets.write(batches, tmp_path / "parts", format=ending, files=files, events=1_000)
    assert [path.name for path in written] == [f"part-{i:05}.{ending}" for i in range(files)]
    sizes = [len(datasets.load(path)) for path in written]
    assert sum(sizes) == 1_000
    assert max(sizes) - min(sizes) <= 1
    assert datasets.load(tmp_path / "parts").to_pylist() == datasets.cluster(1_000).to_pylist()


def test_more_parts_than_events_leaves_some_empty_but_readable(tmp_path):
    written = datasets.write(datasets.stock(2), tmp_path, format="parquet", files=4)
    assert [len(pyarrow.parquet.read_table(path)) for path in written] == [1, 1, 0, 0]


def test_parts_need_the_number_of_events(tmp_path):
    with pytest.raises(DataError, match="number of events"):
        datasets.write(datasets.stock_batches(10), tmp_path, format="csv", files=2)


def test_a_stream_shorter_than_announced_is_an_error(tmp_path):
    with pytest.raises(DataError, match="ended before"):
        datasets.write(datasets.stock_batches(10), tmp_path, format="csv", files=2, events=20)


def test_progress_counts_up_to_the_number_of_events(tmp_path):
    told: list[int] = []
    batches = datasets.stock_batches(1_000, chunk=100)
    datasets.write(batches, tmp_path / "parts", format="csv", files=3, events=1_000, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1_000
    assert len(told) >= 10


def test_a_file_is_invisible_until_it_is_complete(tmp_path):
    seen: list[list[str]] = []

    def watched():
        for batch in datasets.stock_batches(1_000, chunk=100):
            seen.append([path.name for path in tmp_path.iterdir() if not path.name.startswith(".")])
            yield batch

    datasets.write(watched(), tmp_path / "events.csv")
    assert seen == [[]] * 10
    assert [path.name for path in tmp_path.iterdir()] == ["events.csv"]


def test_a_stream_that_breaks_leaves_nothing_behind(tmp_path):
    def broken():
        yield next(datasets.stock_batches(100))
        raise RuntimeError("source broke")

    with pytest.raises(RuntimeError, match="source broke"):
        datasets.write(broken(), tmp_path / "events.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_stays_whole_when_its_replacement_breaks(tmp_path):
    path = tmp_path / "events.csv"
    datasets.write(datasets.stock(10), path)
    before = path.read_bytes()

    def broken():
        yield next(datasets.stock_batches(100))
        raise RuntimeError("source broke")

    with pytest.raises(RuntimeError):
        datasets.write(broken(), path)
    assert path.read_bytes() == before


def test_row_groups_are_large_however_small_the_batches(tmp_path):
    datasets.write(datasets.cluster_batches(20_000, chunk=100), tmp_path / "events.parquet")
    assert pyarrow.parquet.ParquetFile(tmp_path / "events.parquet").num_row_groups == 1


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "text": st.none() | st.text(st.characters(codec="utf-8")),
                "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
                "real": st.none() | st.floats(allow_nan=False, allow_infinity=False),
                "truth": st.none() | st.booleans(),
            }
        ),
        min_size=1,
        max_size=20,
    )
)
def test_json_lines_say_exactly_what_the_table_says(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("json") / "rows.jsonl"
    schema = pa.schema([("text", pa.string()), ("whole", pa.int64()), ("real", pa.float64()), ("truth", pa.bool_())])
    datasets.write(pa.Table.from_pylist(rows, schema=schema), path)
    assert [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] == rows


def test_json_has_null_for_numbers_it_lacks_and_iso_8601_for_times(tmp_path):
    table = pa.table(
        {
            "real": [float("nan"), float("inf")],
            "time": pa.array([datetime(2024, 1, 2, 3, 4, 5, 6, UTC), None], pa.timestamp("us", "UTC")),
            "local": pa.array([datetime(2024, 1, 2), datetime(2024, 1, 3)], pa.timestamp("ms")),  # noqa: DTZ001
            "parts": [[1, 2], None],
            "word": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    datasets.write(table, tmp_path / "rows.jsonl")
    first, second = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
    assert first["real"] is second["real"] is None
    assert (first["time"], second["time"]) == ("2024-01-02T03:04:05.000006Z", None)
    assert first["local"] == "2024-01-02T00:00:00.000"
    assert (first["parts"], second["parts"]) == ([1, 2], None)
    assert (first["word"], second["word"]) == ("a", "b")


def test_an_empty_stream_makes_a_file_with_a_schema(tmp_path):
    datasets.write(datasets.stock_batches(0), tmp_path / "events.parquet")
    assert pyarrow.parquet.read_schema(tmp_path / "events.parquet").names == datasets.STOCK_SCHEMA.names


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("events.xlsx", {}, "names no format"),
        ("events", {}, "names no format"),
        ("events", {"format": "parket"}, "did you mean parquet"),
        ("events.csv", {"files": 0}, "at least one"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_hint(name, options, says, tmp_path):
    with pytest.raises(DataError, match=says) as caught:
        datasets.write(datasets.stock(3), tmp_path / name, **options)
    assert "hint:" in str(caught.value)


def test_a_directory_that_cannot_be_made_is_a_data_error(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(DataError, match="cannot be written"):
        datasets.write(datasets.stock(3), tmp_path / "taken" / "events.csv")


def test_no_batches_at_all_cannot_be_written(tmp_path):
    with pytest.raises(DataError, match="no batches"):
        datasets.write([], tmp_path / "events.csv")
