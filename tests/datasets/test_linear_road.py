"""The traffic stream: reports every 30 seconds, a growing rate, accidents and the jams behind them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from greta.datasets import traffic
from greta.errors import DataError


@pytest.fixture(scope="module")
def hour():
    """An hour of traffic or so, with many accidents."""
    return traffic(300_000, peak_rate=100, initial_rate=50, ramp=3600, accidents=20, expressways=2, seed=1)


def positions(table):
    return table.filter(pc.equal(table.column("type"), "Position"))


def accidents(table):
    return table.filter(pc.equal(table.column("type"), "Accident"))


def seconds(table):
    return table.column("time").cast(pa.int64()).to_numpy() // 1_000_000


def test_a_vehicle_reports_every_30_seconds(hour):
    reports = positions(hour).sort_by([("vehicle", "ascending"), ("time", "ascending")])
    same = np.diff(reports.column("vehicle").to_numpy()) == 0
    assert same.sum() > 100_000
    assert set(np.diff(seconds(reports))[same]) == {30}


def test_values_are_within_linear_roads_bounds(hour):
    reports = positions(hour)
    bounds = {"speed": 100, "expressway": 1, "lane": 4, "direction": 1, "segment": 99, "position": 527_999}
    for name, most in bounds.items():
        values = reports.column(name).to_numpy()
        assert reports.column(name).null_count == 0
        assert values.min() >= 0
        assert values.max() <= most
        assert len(np.unique(values)) == most + 1 or name == "position" or most == 100
    assert (reports.column("segment").to_numpy() == reports.column("position").to_numpy() // 5280).all()


def test_a_vehicle_stays_on_its_expressway_and_goes_one_way(hour):
    reports = positions(hour).sort_by([("vehicle", "ascending"), ("time", "ascending")])
    same = np.diff(reports.column("vehicle").to_numpy()) == 0
    for name in ("expressway", "direction"):
        assert not np.diff(reports.column(name).to_numpy())[same].any()
    moves = np.diff(reports.column("position").to_numpy())[same]
    east = reports.column("direction").to_numpy()[1:][same] == 0
    assert moves[east].min() >= 0
    assert moves[~east].max() <= 0


def test_a_vehicle_moves_as_far_as_its_speed_says(hour):
    reports = positions(hour).sort_by([("vehicle", "ascending"), ("time", "ascending")])
    travels = (np.diff(reports.column("vehicle").to_numpy()) == 0) & (reports.column("lane").to_numpy()[1:] != 4)
    moved = np.abs(np.diff(reports.column("position").to_numpy()))[travels]
    assert np.abs(moved - reports.column("speed").to_numpy()[1:][travels] * 44).max() <= 1


def test_a_vehicle_enters_on_lane_0_and_leaves_on_lane_4(hour):
    reports = positions(hour).sort_by([("vehicle", "ascending"), ("time", "ascending")])
    vehicle, lane = reports.column("vehicle").to_numpy(), reports.column("lane").to_numpy()
    first = np.flatnonzero(np.diff(vehicle, prepend=-1))
    assert (np.flatnonzero(lane == 0) == first).all()
    leaves = np.flatnonzero(lane == 4)
    leaves = leaves[leaves < len(vehicle) - 1]
    assert (vehicle[leaves] != vehicle[leaves + 1]).all()


def test_the_rate_grows_evenly_to_its_peak_and_stays():
    table = traffic(400_000, initial_rate=20, peak_rate=200, ramp=1800, seed=2)
    elapsed = seconds(table) - seconds(table)[0]
    per_minute = np.bincount(elapsed // 60)[:-1] / 60
    assert per_minute[0] == pytest.approx(21.5, abs=2)
    assert per_minute[15] == pytest.approx(113, rel=0.05)
    assert per_minute[30:].min() == pytest.approx(200, rel=0.02)
    assert per_minute[30:].max() == pytest.approx(200, rel=0.02)


def test_without_a_ramp_the_stream_begins_at_its_peak():
    table = traffic(30_000, peak_rate=500, ramp=0)
    assert seconds(table)[-1] - seconds(table)[0] + 1 == 60


def test_accidents_have_a_place_and_no_vehicle(hour):
    found = accidents(hour)
    assert len(found) > 20
    for name in ("vehicle", "speed", "lane", "position"):
        assert found.column(name).null_count == len(found)
    for name in ("expressway", "direction", "segment"):
        assert found.column(name).null_count == 0


def test_there_are_as_many_accidents_as_stated(hour):
    # An accident lasts 15 minutes on average and is told every 30 seconds.
    hours = (seconds(hour)[-1] - seconds(hour)[0]) / 3600
    assert len(accidents(hour)) / 30 == pytest.approx(20 * 2 * hours, rel=0.4)
    assert len(accidents(traffic(50_000, accidents=0))) == 0


def test_traffic_slows_down_at_accidents_and_behind_them_only(hour):
    reports = positions(hour)
    place = ("expressway", "direction", "segment")
    told = {(r["time"].timestamp() // 30, *(r[n] for n in place)) for r in accidents(hour).to_pylist()}
    when = seconds(reports) // 30
    where = [reports.column(name).to_numpy() for name in place]
    speed = reports.column("speed").to_numpy()

    def mean_speed(miles_behind):
        ahead = np.where(where[1] == 0, 1, -1) * miles_behind
        keys = zip(
            (when - 1).tolist(),
            where[0].tolist(),
            where[1].tolist(),
            (where[2] + ahead).tolist(),
            strict=True,
        )
        return speed[[key in told for key in keys]].mean()

    usual = speed.mean()
    assert mean_speed(0) < 0.5 * usual
    assert mean_speed(2) < 0.8 * usual
    assert mean_speed(-3) > 0.85 * usual


@pytest.mark.parametrize(
    "wrong", [{"expressways": 0}, {"initial_rate": 0}, {"peak_rate": 50}, {"ramp": -1}, {"accidents": -1}]
)
def test_roads_that_cannot_be_are_refused(wrong):
    with pytest.raises(DataError, match="hint:"):
        traffic(10, **wrong)
