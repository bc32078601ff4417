"""The stock stream: prices on ticks, trends, the worst case."""

import numpy as np
import pyarrow.compute as pc
import pytest

from greta.datasets import stock
from greta.datasets.blocks import BLOCK
from greta.errors import DataError


def ticks(table, company="C01"):
    mine = table.filter(pc.equal(table.column("company"), company))
    return np.rint(mine.column("price").to_numpy() * 100).astype(np.int64)


def test_prices_are_whole_ticks_and_never_below_one():
    table = stock(200_000, volatility=40, seed=1)
    price = table.column("price").to_numpy()
    assert (price == np.rint(price * 100) / 100).all()
    assert price.min() == 0.01


def test_companies_are_equally_frequent_and_keep_their_sector():
    table = stock(100_000, companies=10, sectors=3)
    pairs = table.group_by(["company", "sector"]).aggregate([([], "count_all")]).to_pylist()
    assert len(pairs) == 10
    assert {pair["sector"] for pair in pairs} == {"sector-0", "sector-1", "sector-2"}
    assert all(abs(pair["count_all"] - 10_000) < 400 for pair in pairs)


def test_sectors_may_be_named():
    assert set(stock(100, sectors=["x", "y"]).column("sector").to_pylist()) == {"x", "y"}


def test_price_changes_have_the_stated_spread_and_drift():
    table = stock(400_000, companies=1, volatility=3, drift=0.5, trend=0, seed=5)
    changes = np.diff(ticks(table))
    assert changes.mean() == pytest.approx(0.5, abs=0.03)
    assert changes.std() == pytest.approx(3, rel=0.02)


def test_trends_carry_the_price_further_than_a_walk_without_them():
    def reach(trend):
        path = ticks(stock(100_000, companies=1, trend=trend, seed=2))
        return np.abs(path[200::200] - path[:-200:200]).mean()

    assert reach(200) > 1.5 * reach(0)


def test_up_and_down_trends_balance():
    changes = np.diff(ticks(stock(300_000, companies=1, seed=4)))
    assert (changes > 0).mean() == pytest.approx((changes < 0).mean(), abs=0.03)


def test_a_price_goes_on_where_the_block_before_left_it():
    # Were the state lost, prices at the border of two blocks would jump by hundreds of ticks.
    path = ticks(stock(3 * BLOCK, companies=1, volatility=2))
    assert np.abs(np.diff(path)).max() < 20


def test_falling_prices_fall_strictly_for_each_company():
    table = stock(2 * BLOCK + 7, companies=3, falling=True)
    for company in ("C01", "C02", "C03"):
        assert (np.diff(ticks(table, company)) == -1).all()
    assert table.column("price").to_numpy().min() > 0


def test_falling_prices_differ_in_time_so_that_all_subsets_are_trends():
    times = stock(50_000, companies=1, falling=True, rate=100_000).column("time").to_numpy()
    assert (np.diff(times).astype(np.int64) > 0).all()


def test_rising_prices_are_bought_and_falling_ones_sold_more_often_than_not():
    table = stock(100_000, companies=1, seed=9)
    rises = np.diff(ticks(table)) > 0
    bought = np.array(table.column("side").to_pylist()[1:]) == "buy"
    assert set(table.column("side").to_pylist()) == {"buy", "sell"}
    assert bought[rises].mean() == pytest.approx(0.65, abs=0.02)


def test_transactions_are_numbered_and_volumes_are_round_lots():
    table = stock(BLOCK + 10)
    assert table.column("transaction").to_pylist() == list(range(BLOCK + 10))
    volume = table.column("volume").to_numpy()
    assert volume.min() == 100
    assert (volume % 100 == 0).all()


@pytest.mark.parametrize("companies", [1, 100_000])
def test_any_number_of_companies_can_trade(companies):
    assert len(set(stock(2_000, companies=companies).column("company").to_pylist())) <= companies


@pytest.mark.parametrize("wrong", [{"companies": 0}, {"sectors": []}, {"volatility": -1}, {"trend": -1}])
def test_markets_that_cannot_be_are_refused(wrong):
    with pytest.raises(DataError, match="hint:"):
        stock(10, **wrong)
