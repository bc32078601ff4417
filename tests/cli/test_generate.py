"""``greta generate`` as a user meets it."""

import pytest
from typer.testing import CliRunner

from greta import datasets
from greta.cli.generate import app


def generate(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", ["stock", "traffic", "cluster"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_the_file_holds_what_the_library_makes(name, ending, tmp_path):
    path = tmp_path / f"events.{ending}"
    answer = generate(name, "--events", 500, "--output", path, "--seed", 3)
    assert answer.exit_code == 0, answer.output
    assert datasets.load(path).to_pylist() == getattr(datasets, name)(500, seed=3).to_pylist()


def test_what_was_written_is_told_on_stderr_alone(tmp_path):
    answer = generate("stock", "-n", 500, "-o", tmp_path / "events.csv")
    assert answer.stdout == ""
    assert "500 events in 1 file" in answer.stderr
    assert generate("stock", "-n", 500, "-o", tmp_path / "events.csv", "--quiet").stderr == ""


def test_the_options_of_the_data_sets_reach_them(tmp_path):
    path = tmp_path / "events.parquet"
    generate("stock", "-n", 100, "-o", path, "--companies", 2, "--falling", "--start", "2030-01-01")
    table = datasets.load(path)
    assert set(table.column("company").to_pylist()) == {"C01", "C02"}
    assert table.column("time")[0].as_py().year == 2030
    generate("cluster", "-n", 100, "-o", path, "--mappers", 1, "--jobs", 2, "--resolution", "s")
    table = datasets.load(path)
    assert set(table.column("job").to_pylist()) == {0, 1}
    assert {time.microsecond for time in table.column("time").to_pylist()} == {0}
    generate("traffic", "-n", 3_000, "-o", path, "--accidents", 9_000, "--rate", 200, "--ramp", 0)
    assert "Accident" in datasets.load(path).column("type").to_pylist()


def test_files_split_the_stream_into_a_directory(tmp_path):
    answer = generate("cluster", "-n", 1_000, "-o", tmp_path / "parts", "--files", 4)
    assert answer.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [f"part-0000{i}.parquet" for i in range(4)]
    assert datasets.load(tmp_path / "parts").to_pylist() == datasets.cluster(1_000).to_pylist()


@pytest.mark.parametrize("name", ["stock", "traffic", "cluster"])
def test_a_live_feed_ends_after_its_seconds(name, tmp_path):
    answer = generate(
        name,
        "--live",
        "--rate",
        1_000,
        "--seconds",
        4,
        "--speed-up",
        100,
        "--disorder",
        1,
        "-o",
        tmp_path / "in",
    )
    assert answer.exit_code == 0, answer.output
    assert [path.name for path in sorted((tmp_path / "in").iterdir())] == [
        f"events-0000000{i}.parquet" for i in range(4)
    ]
    assert 3_000 < len(datasets.load(tmp_path / "in")) < 5_000


@pytest.mark.parametrize(
    "options",
    [
        ["--live"],
        ["--seconds", "5"],
        ["--disorder", "5"],
        ["--speed-up", "5"],
        ["--live", "--events", "5", "--files", "2"],
        ["--events", "-1"],
        ["--format", "xml"],
    ],
)
def test_options_that_do_not_go_together_are_refused(options, tmp_path):
    answer = generate("stock", "-o", tmp_path / "x.csv", *options)
    assert answer.exit_code == 2
    assert list(tmp_path.iterdir()) == []
