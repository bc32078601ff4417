"""Reading event files of any origin: mappings, times, and errors that say where."""

import json
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet
import pytest

from greta.datasets import load
from greta.errors import DataError

NOON = datetime(2024, 1, 2, 12, 0, 0, 500_000, UTC)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def ticks(tmp_path):
    return write(tmp_path / "ticks.csv", "ts,sym,px,qty\n1704196800500,IBM,10.5,3\n1704196800600,AIG,11,\n")


def test_columns_are_mapped_and_the_type_is_given(ticks):
    table = load(ticks, columns={"company": "sym", "price": "px"}, time="ts", time_unit="ms", event_type="Stock")
    assert table.column_names == ["type", "time", "company", "price"]
    assert table.slice(0, 1).to_pylist() == [{"type": "Stock", "time": NOON, "company": "IBM", "price": 10.5}]


def test_by_default_all_columns_keep_their_names(ticks):
    table = load(ticks, time="ts", time_unit="ms", event_type="Stock")
    assert table.column_names == ["type", "time", "sym", "px", "qty"]
    assert table.column("qty").to_pylist() == [3, None]


def test_attributes_may_be_picked_by_name(ticks):
    table = load(ticks, columns=["px"], time="ts", time_unit="ms", event_type="Stock")
    assert table.column_names == ["type", "time", "px"]


def test_the_type_may_be_in_any_column(ticks):
    table = load(ticks, columns=["px"], time="ts", time_unit="ms", type_column="sym")
    assert table.column("type").to_pylist() == ["IBM", "AIG"]


def test_types_may_be_stated(ticks):
    table = load(ticks, time="ts", event_type="Stock", types={"qty": pa.float64(), "px": pa.string()})
    assert table.column("qty").type == pa.float64()
    assert table.column("px").to_pylist() == ["10.5", "11"]


@pytest.mark.parametrize(
    ("unit", "value"),
    [("s", 1704196800.5), ("ms", 1704196800500), ("us", 1704196800500000), ("ns", 1704196800500000789)],
)
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_numbers_count_from_the_epoch_in_the_stated_unit(unit, value, ending, tmp_path):
    path = tmp_path / f"events.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(pa.table({"type": ["A"], "time": [value]}), path)
    else:
        write(path, f"type,time\nA,{value}\n" if ending == "csv" else f'{{"type": "A", "time": {value}}}\n')
    assert load(path, time_unit=unit).column("time").to_pylist() == [NOON]


def test_numbers_without_a_unit_stay_plain_seconds(tmp_path):
    whole = write(tmp_path / "whole.csv", "type,time\nA,1\nB,2\n")
    assert load(whole).column("time").to_pylist() == [1, 2]
    assert load(whole).column("time").type == pa.int64()
    real = write(tmp_path / "real.csv", "type,time\nA,1\nB,2.5\n")
    assert load(real).column("time").to_pylist() == [1.0, 2.5]


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-02T12:00:00.5Z",
        "2024-01-02 12:00:00.500",
        "2024-01-02T13:00:00.500000+01:00",
        "2024-01-02T12:00:00.500",
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_text_is_read_as_iso_8601_and_without_a_zone_as_utc(text, ending, tmp_path):
    path = tmp_path / f"events.{ending}"
    write(path, f"type,time\nA,{text}\n" if ending == "csv" else f'{{"type": "A", "time": "{text}"}}\n')
    table = load(path)
    assert table.column("time").type == pa.timestamp("us", tz="UTC")
    assert table.column("time").to_pylist() == [NOON]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (NOON, pa.timestamp("ns", tz="Europe/Berlin")),
        (NOON.replace(tzinfo=None), pa.timestamp("ms")),
    ],
)
def test_time_stamps_become_utc_microseconds(value, kind, tmp_path):
    pyarrow.parquet.write_table(pa.table({"type": ["A"], "time": pa.array([value], kind)}), tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet").column("time").to_pylist() == [NOON]


def test_a_date_is_its_midnight(tmp_path):
    pyarrow.parquet.write_table(pa.table({"type": ["A"], "time": [date(2024, 1, 2)]}), tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet").column("time").to_pylist() == [datetime(2024, 1, 2, tzinfo=UTC)]


def test_dictionary_columns_become_plain(tmp_path):
    words = pa.array(["A", "B"]).dictionary_encode()
    pyarrow.parquet.write_table(pa.table({"type": words, "time": [1, 2], "x": words}), tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet").schema.field("x").type == pa.string()
    assert load(tmp_path / "t.parquet").schema.field("type").type == pa.string()


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_fields_of_structures_are_columns(ending, tmp_path):
    rows = [
        {"type": "A", "payload": {"at": 1, "of": {"key": "x"}, "big": 2**64 - 1}, "payload.of.key": "column"},
        {"type": "A", "payload": {"at": 2, "of": None, "big": 0}, "payload.of.key": None},
    ]
    file = tmp_path / f"nested.{ending}"
    if ending == "jsonl":
        write(file, "".join(json.dumps(row) + "\n" for row in rows))
    else:
        of = pa.struct([("key", pa.string())])
        payload = pa.struct([("at", pa.int64()), ("of", of), ("big", pa.uint64())])
        schema = pa.schema([("type", pa.string()), ("payload", payload), ("payload.of.key", pa.string())])
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows, schema), file)
    table = load(file, time="payload.at")
    assert set(table.column_names) == {"type", "time", "payload.of.key", "payload.big"}
    assert table["time"].to_pylist() == [1, 2]
    assert table["payload.of.key"].to_pylist() == ["column", None]
    assert table["payload.big"].to_pylist() == [2**64 - 1, 0]


def test_a_directory_is_all_its_visible_files(tmp_path):
    write(tmp_path / "b.csv", "type,time\nB,2\n")
    write(tmp_path / "a.jsonl", '{"type": "A", "time": 1, "x": 5}\n')
    write(tmp_path / ".c.csv.unfinished", "type,ti")
    write(tmp_path / "_SUCCESS", "")
    assert load(tmp_path).to_pylist() == [
        {"type": "A", "time": 1, "x": 5},
        {"type": "B", "time": 2, "x": None},
    ]


def fails(path, **options):
    with pytest.raises(DataError) as caught:
        load(path, **options)
    assert "hint:" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_a_missing_column_is_named_with_those_there_are(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(pa.table({"type": ["A"], "time": [1], "price": [2]}), path)
    else:
        write(path, "type,time,price\nA,1,2\n" if ending == "csv" else '{"type":"A","time":1,"price":2}\n')
    said = fails(path, columns=["pirce"])
    assert f"{path}: there is no column pirce; there are type, time, price" in said
    assert "did you mean price?" in said


def test_without_a_type_column_the_hint_is_to_give_a_type(ticks):
    assert "event_type=" in fails(ticks, time="ts")


def test_an_unreadable_time_is_shown_with_its_line(tmp_path):
    rows = "".join(f"A,{i}\n" for i in range(1_000))
    path = write(tmp_path / "t.csv", "type,time\n" + rows + "A,noon\n" + rows)
    said = fails(path)
    assert f"{path}:1002: column time: 'noon' cannot be read" in said


def test_lines_are_right_after_blank_lines_and_line_breaks_in_quotes(tmp_path):
    path = write(tmp_path / "t.csv", 'type,time,note\nA,1,"two\nlines"\n\nA,2,x\nA,noon,y\n')
    assert f"{path}:6: column time: 'noon'" in fails(path)


def test_an_unreadable_iso_time_is_shown_with_its_line(tmp_path):
    path = write(tmp_path / "t.jsonl", '{"type":"A","time":"2024-01-02T00:00:00Z"}\n\n{"type":"A","time":"soon"}\n')
    assert f"{path}:3: column time: 'soon' cannot be read as time" in fails(path)


def test_a_value_unlike_its_stated_type_is_shown_with_its_line(tmp_path):
    path = write(tmp_path / "t.csv", "type,time,x\nA,1,5\nA,2,five\n")
    said = fails(path, types={"x": pa.int64()})
    assert f"{path}:3: column x: 'five' cannot be read as int64" in said


def test_numbers_with_a_word_among_them_are_text_unless_their_type_is_given(tmp_path):
    rows = "".join(f"A,{i},{i}\n" for i in range(100_000))
    path = write(tmp_path / "t.csv", "type,time,x\n" + rows + "A,1,five\n")
    assert load(path).schema.field("x").type == pa.string()
    assert f"{path}:100002: column x: 'five'" in fails(path, types={"x": pa.float64()})


def test_a_row_with_too_many_fields_is_shown_with_its_line(tmp_path):
    path = write(tmp_path / "t.csv", "type,time\nA,1\nA,2,3\n")
    assert f"{path}:3: 3 fields under 2 columns" in fails(path)


@pytest.mark.parametrize(
    ("line", "says"),
    [('{"type":"A","time":', "not JSON"), ("[1]", "not an object"), ('{"type":"A","time":"x"}', "is a text")],
)
def test_a_bad_json_line_is_shown_with_its_number(line, says, tmp_path):
    path = write(tmp_path / "t.jsonl", f'{{"type":"A","time":1}}\n{line}\n')
    said = fails(path)
    assert f"{path}:2: " in said
    assert says in said


@pytest.mark.parametrize(("column", "row"), [("time", "A,"), ("type", ",3")])
def test_an_event_without_type_or_time_is_shown_with_its_line(column, row, tmp_path):
    path = write(tmp_path / "t.csv", f"type,time\nA,1\n{row}\n")
    assert f"{path}:3: column {column} is NULL" in fails(path)


def test_a_null_in_parquet_is_shown_with_its_row(tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"type": ["A", "A"], "time": [1.0, float("nan")]}), path)
    assert f"{path}, row 2: column time is NULL" in fails(path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"columns": {"time": "ts"}}, "time is not an attribute"),
        ({"types": {"pq": pa.int64()}}, "a type is given for pq"),
        ({"time_unit": "minutes"}, "unknown time_unit"),
        ({"format": "xml"}, "unknown format"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, says, ticks):
    assert says in fails(ticks, **{"time": "ts", "event_type": "Stock"} | options)


def test_a_unit_for_time_stamps_is_refused(tmp_path):
    pyarrow.parquet.write_table(pa.table({"type": ["A"], "time": [NOON]}), tmp_path / "t.parquet")
    assert "leave time_unit out" in fails(tmp_path / "t.parquet", time_unit="s")


def test_a_column_that_is_no_time_is_refused(tmp_path):
    pyarrow.parquet.write_table(pa.table({"type": ["A"], "time": [[1]]}), tmp_path / "t.parquet")
    assert "which is no time" in fails(tmp_path / "t.parquet")


def test_files_that_are_not_there_or_not_what_they_seem_are_data_errors(tmp_path):
    assert "cannot be read" in fails(tmp_path / "missing.csv")
    assert "cannot be read" in fails(tmp_path / "missing.parquet")
    assert "no files" in fails(tmp_path)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in fails(tmp_path / "bytes.csv")
    (tmp_path / "text.parquet").write_text("type,time")
    assert "format" in fails(tmp_path / "text.parquet")
