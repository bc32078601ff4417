"""The benchmark: experiments that can run, runs that resume, limits that hold, claims that can fail."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from greta.datasets import paper, stock
from greta.engine.tables import schema_of
from greta.errors import DataError, GretaError
from greta.plan.analyze import analyze
from greta_research.bench import results, runner
from greta_research.bench.__main__ import app, main
from greta_research.bench.about import about
from greta_research.bench.claims import claims
from greta_research.bench.experiments import DataSet, experiments
from greta_research.bench.flink import Flink
from greta_research.bench.memory import Peak
from greta_research.bench.report import write_report
from greta_research.bench.results import Run
from greta_research.bench.strategies import missing, strategy

EXPERIMENTS = experiments()


def run(experiment="events-market", x=100, strategy="greta", status="finished", **rest):
    places = [point.x for point in EXPERIMENTS[experiment].points]
    point = EXPERIMENTS[experiment].points[places.index(x)]
    values = {"seconds": 1.0, "memory": 2**20} if status == "finished" else {}
    return Run(
        experiment,
        places.index(x),
        str(x),
        point.data.events,
        strategy,
        status,
        limit=60.0,
        **values | rest,
    )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_query_of_an_experiment_fits_its_data(name):
    for point in EXPERIMENTS[name].points:
        table = DataSet(point.data.source, 20, point.data.options).make()
        analyze(point.query, schema_of(table.schema))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_strategy_of_an_experiment_supports_its_queries(name):
    for point in EXPERIMENTS[name].points:
        plan = analyze(point.query)
        assert [strategy(s).supports(plan) for s in EXPERIMENTS[name].strategies] == [None] * len(
            EXPERIMENTS[name].strategies
        )


def test_a_quick_run_takes_points_that_exist():
    quick = [(e, place) for e in EXPERIMENTS.values() for place in e.quick]
    assert quick
    assert all(0 <= place < len(experiment.points) for experiment, place in quick)


def test_events_per_window_are_in_one_window():
    point = EXPERIMENTS["events-market"].points[-1]
    times = point.data.make().column("time")
    first, last = times[0].as_py(), times[-1].as_py()
    assert first.date() == last.date()


def test_an_unknown_strategy_is_refused_with_a_guess():
    with pytest.raises(GretaError, match="did you mean sase"):
        strategy("sace")


def test_a_run_in_its_own_process_is_kept_and_not_repeated(tmp_path, monkeypatch):
    whole = EXPERIMENTS["events-market"]
    small = replace(whole, points=whole.points[:1], strategies=("sase", "cet"))
    first = runner.run_all([small], tmp_path, quick=False, fresh=False)
    assert [(r.strategy, r.status, r.check) for r in first] == [
        ("sase", "finished", "612"),
        ("cet", "finished", "612"),
    ]
    assert all(r.seconds > 0 and r.memory > 0 for r in first)

    def never(*_):
        raise AssertionError("a finished run was started again")

    monkeypatch.setattr(runner, "run_process", never)
    assert runner.run_all([small], tmp_path, quick=False, fresh=False) == first


def test_a_process_that_outlives_its_limit_is_stopped_and_not_finished():
    experiment = EXPERIMENTS["events-falling"]
    place = [point.x for point in experiment.points].index(27)
    job = {"experiment": experiment.name, "place": place, "strategy": "sase", "seconds": 1000}
    outcome = runner.run_process(job, -4.0, experiment.memory)
    assert (outcome["status"], outcome["reason"]) == ("did not finish", "time")


def test_an_interrupted_run_leaves_no_process_behind(monkeypatch):
    started = []

    def interrupt(process, *rest):
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "_watch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        runner.run_process({"experiment": "events-falling", "place": 8, "strategy": "sase", "seconds": 60}, 60, 1e12)
    assert started[0].returncode is not None


def test_a_process_that_breaks_is_a_failed_run_with_its_reason():
    outcome = runner.run_process({"experiment": "no such", "place": 0, "strategy": "sase", "seconds": 1}, 1, 1e12)
    assert outcome["status"] == "failed"
    assert "no such" in outcome["reason"]


def test_what_did_not_finish_is_not_tried_at_larger_sizes(tmp_path, monkeypatch):
    started = []

    def stop(job, *_):
        started.append(job["place"])
        return {"status": "did not finish", "reason": "time", "seconds": 60.0}

    monkeypatch.setattr(runner, "run_process", stop)
    experiment = replace(EXPERIMENTS["events-market"], strategies=("sase",))
    runs = runner.run_all([experiment], tmp_path, quick=False, fresh=True)
    assert started == [0]
    assert {r.status for r in runs[1:]} == {"implied"}
    assert all(r.unfinished for r in runs)


def test_flink_is_skipped_with_a_reason_where_it_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("GRETA_FLINK_PYTHON", str(tmp_path / "none"))
    assert "not installed" in missing("flink")
    experiment = replace(EXPERIMENTS["flink"], points=EXPERIMENTS["flink"].points[:1], strategies=("flink",))
    (skipped,) = runner.run_all([experiment], tmp_path, quick=False, fresh=True)
    assert skipped.status == "skipped"


def test_flattened_sql_joins_neighbours_in_order_of_time():
    from greta_research.bench.flink import _flattened

    sql = _flattened(analyze(paper.Q1), 2)
    assert sql == (
        "SELECT COUNT(*) AS n FROM events AS e1, events AS e2 WHERE e1.c_time < e2.c_time "
        "AND e1.c_company = e2.c_company AND e1.c_sector = e2.c_sector AND (e1.c_price > e2.c_price)"
    )
    assert "V+" in Flink().supports(analyze(paper.Q2))


def test_results_come_back_as_written(tmp_path):
    runs = [run(repeats=(1.0, 2.0)), run(strategy="sase", status="did not finish", reason="time")]
    for one in runs:
        results.append(tmp_path, one)
    assert results.read(tmp_path) == runs
    results.write(tmp_path, runs, about("make bench"))
    table = pq.read_table(tmp_path / results.TABLE)
    assert table.column("status").to_pylist() == ["finished", "did not finish"]
    assert table.column("throughput").to_pylist() == [100.0, None]
    whole = json.loads((tmp_path / results.WHOLE).read_text())
    assert {"commit", "cores", "python", "packages", "command"} <= whole["about"].keys()


def test_a_line_that_is_no_run_is_named(tmp_path):
    (tmp_path / results.LINES).write_text("{}\n")
    with pytest.raises(DataError, match=r"runs\.jsonl:1"):
        results.read(tmp_path)


def test_the_last_of_equal_runs_counts(tmp_path):
    for seconds in (1.0, 2.0):
        results.append(tmp_path, run(seconds=seconds))
    assert [one.seconds for one in results.read(tmp_path)] == [2.0]


def test_peak_memory_sees_what_a_run_takes():
    peak = Peak()
    block = bytearray(50 * 2**20)
    assert 50 * 2**20 <= peak.rise() < 80 * 2**20
    del block


def verdict(runs, words):
    return [claim.holds for claim in claims(runs) if all(word in claim.text for word in words.split())]


@pytest.mark.parametrize(("theirs", "holds"), [(50.0, True), (0.5, False)])
def test_the_claim_of_speed_holds_only_for_enough_speed(theirs, holds):
    runs = [
        run(seconds=0.001),
        run(strategy="sase", seconds=theirs),
        run(x=200, strategy="sase", status="did not finish"),
    ]
    assert verdict(runs, "events-market: sase's faster") == [holds]


def test_a_claim_without_runs_is_not_measured():
    assert verdict([run()], "events-market: sase's faster") == [None]


@pytest.mark.parametrize(("memory", "holds"), [(100 * 2**20, True), (2 * 2**20, False)])
def test_the_claim_of_memory_holds_only_for_enough_memory(memory, holds):
    runs = [run(), run(strategy="cet", memory=memory), run(x=200, strategy="cet", status="did not finish")]
    assert verdict(runs, "events-market: cet's memory") == [holds]


def test_strategies_that_disagree_break_the_first_claim():
    runs = [run(check="612"), run(strategy="sase", check="613")]
    assert claims(runs)[0].holds is False
    assert "events-market 100" in claims(runs)[0].measured


def test_an_unfinished_graph_gives_a_lower_bound():
    runs = [
        run("quadratic", 20_000, seconds=0.01),
        run("quadratic", 20_000, "graph", "did not finish", seconds=300.0),
    ]
    (claim,) = (claim for claim in claims(runs) if claim.text.startswith("quadratic"))
    assert claim.holds
    assert claim.measured.startswith("at least 30,000 times")


@pytest.mark.parametrize(("slowest", "holds"), [(0.02, True), (0.04, False)])
def test_flat_means_within_a_factor_of_three(slowest, holds):
    runs = [run("groups-100k", 1, seconds=0.01), run("groups-100k", 1_000, seconds=slowest)]
    assert verdict(runs, "groups-100k factor") == [holds]


def test_the_report_marks_what_did_not_finish_and_needs_nothing_else(tmp_path):
    for one in (
        run(),
        run(x=200),
        run(strategy="sase"),
        run(x=200, strategy="sase", status="did not finish", reason="time"),
        run("queries", "Q1"),
        run("flink", 8, "flink", "skipped", reason="Apache Flink is not installed"),
    ):
        results.append(tmp_path, one)
    page = write_report(tmp_path).read_text()
    assert "× time" in page
    assert "Apache Flink is not installed" in page
    assert "http" not in page
    assert page.count("data:image/png;base64,") == 3
    assert (tmp_path / "events-market.png").stat().st_size > 10_000
    assert "| 200 | 1 s, 1 MB |" in (tmp_path / "report.md").read_text()


def test_a_report_of_nothing_says_how_to_get_something(tmp_path):
    with pytest.raises(DataError, match=r"greta_research\.bench --output"):
        write_report(tmp_path)


def test_the_command_refuses_an_unknown_experiment():
    outcome = CliRunner().invoke(app, ["--only", "event-market"])
    assert isinstance(outcome.exception, GretaError)
    assert "did you mean events-market" in str(outcome.exception)


def test_generated_streams_of_a_data_set_are_the_same_everywhere():
    assert DataSet("stock", 50, (("companies", 2),)).make() == stock(50, companies=2)


def test_the_command_tells_machines_where_the_report_is(tmp_path, monkeypatch):
    monkeypatch.setattr("greta_research.bench.report.write_report", lambda directory: directory / "report.html")
    answer = CliRunner().invoke(app, ["report", str(tmp_path), "--json"])
    assert json.loads(answer.stdout) == {"report": str(tmp_path / "report.html")}


def test_the_command_says_what_is_wrong_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", "--only", "no-such-experiment"])
    with pytest.raises(SystemExit, match="1"):
        main()
    assert "hint: choose from" in capsys.readouterr().err
