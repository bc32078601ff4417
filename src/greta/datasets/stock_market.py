"""Stock trades as prices walking on ticks: the stream of Q1 (§10.1, stock data set).

A company's price moves by whole ticks of 0.01. Its walk has a direction that lasts a while and then turns,
so that there are up-trends and down-trends of many lengths. It is reflected at one tick, the lowest price.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa

from greta.datasets.blocks import (
    BLOCK,
    START,
    TIME,
    Clock,
    Floats,
    Grouped,
    Ints,
    Resolution,
    block_random,
    check_size,
    constant,
    cut,
    demand,
    words,
)

STOCK_SCHEMA = pa.schema(
    [
        pa.field("type", pa.string(), nullable=False),
        pa.field("time", TIME, nullable=False),
        ("company", pa.string()),
        ("sector", pa.string()),
        ("price", pa.float64()),
        ("volume", pa.int64()),
        ("side", pa.string()),
        ("transaction", pa.int64()),
    ]
)
SECTORS = ("energy", "finance", "health", "technology")

_STREAM = 1
_SIDES = ("buy", "sell")
_TREND_STRENGTH = 0.25
"""How far a trend moves the price per event, in units of the volatility (one standard deviation)."""


def stock(
    events: int,
    *,
    companies: int = 10,
    sectors: int | Sequence[str] = SECTORS,
    rate: float = 10.0,
    start: datetime = START,
    seed: int = 0,
    volatility: float = 2.0,
    drift: float = 0.0,
    trend: float = 200.0,
    ties: float = 0.0,
    resolution: Resolution = "us",
    falling: bool = False,
) -> pa.Table:
    """Trades of ``companies`` companies as one table; ``stock_batches`` explains the arguments."""
    batches = stock_batches(
        events,
        companies=companies,
        sectors=sectors,
        rate=rate,
        start=start,
        seed=seed,
        volatility=volatility,
        drift=drift,
        trend=trend,
        ties=ties,
        resolution=resolution,
        falling=falling,
    )
    return pa.Table.from_batches(batches, schema=STOCK_SCHEMA)


def stock_batches(
    events: int,
    *,
    companies: int = 10,
    sectors: int | Sequence[str] = SECTORS,
    rate: float = 10.0,
    start: datetime = START,
    seed: int = 0,
    volatility: float = 2.0,
    drift: float = 0.0,
    trend: float = 200.0,
    ties: float = 0.0,
    resolution: Resolution = "us",
    falling: bool = False,
    chunk: int = BLOCK,
) -> Iterator[pa.RecordBatch]:
    """Trades in batches of ``chunk`` events, in order of time.

    The same arguments give the same events whatever ``chunk`` is, and fewer events are the beginning of more
    (except with ``falling``). Memory is bounded by a block and a batch.

    Args:
        events: How many trades.
        companies: How many companies.
        sectors: Names, or how many; company i belongs to sector i modulo their number.
        rate: Events per second over all companies. The default is about that of the paper's trace, 225k trades of 10
            companies in a day, and keeps Q1's counts within a double.
        start: The time from which trades come.
        seed: Another seed gives other trades.
        volatility: Spread of a company's price change from trade to trade, in ticks.
        drift: Mean of that change, in ticks.
        trend: How many of a company's trades a direction lasts on average; 0 for a walk without trends.
        ties: Share of events that have their time stamp in common with another event.
        resolution: ``"s"`` cuts time stamps to whole seconds, as in the paper's data; ties come of it.
        falling: Every company's price falls by a tick with each trade, so that n trades of a company hold 2ⁿ - 1
            down-trends: the worst case.
        chunk: Events per batch.

    Examples:
        >>> next(stock_batches(1_000, companies=2, seed=7)).num_rows
        1000
    """
    check_size(events, chunk)
    demand(companies >= 1, f"companies is {companies}", "ask for at least one company")
    demand(volatility >= 0, f"volatility is {volatility}", "give a spread in ticks, e.g. volatility=2")
    demand(trend >= 0, f"trend is {trend}", "give a number of trades, or 0 for no trends")
    names = tuple(f"sector-{i}" for i in range(sectors)) if isinstance(sectors, int) else tuple(sectors)
    demand(bool(names), "there are no sectors", "name at least one, e.g. sectors=['technology']")
    clock = Clock(start, rate, ties, resolution)
    walk = _Falling(companies, events) if falling else _Walk(companies, volatility, drift, trend, seed)
    return cut(_blocks(clock, walk, companies, names, seed), STOCK_SCHEMA, events, chunk)


def _blocks(
    clock: Clock, walk: _Walk | _Falling, companies: int, sectors: tuple[str, ...], seed: int
) -> Iterator[pa.RecordBatch]:
    width = max(2, len(str(companies)))
    company_names = [f"C{i + 1:0{width}}" for i in range(companies)]
    block = 0
    while True:
        random = block_random(seed, _STREAM, 1, block)
        company = random.integers(0, companies, BLOCK)
        times = clock.times(random, BLOCK)
        grouped = Grouped.by(company, companies)
        ticks, moves = walk.advance(random, grouped)
        ticks, moves = grouped.restore(ticks), grouped.restore(moves)
        # A rising price is the mark of a buyer in a hurry, more often than not.
        sells = random.random(BLOCK) > 0.5 + 0.15 * np.sign(moves)
        # Round lots, mostly small, with a long tail.
        volume = 100 * np.ceil(random.standard_exponential(BLOCK) ** 2).astype(np.int64).clip(min=1)
        columns = [
            constant("Stock", BLOCK),
            pa.array(times).cast(TIME),
            words(company, company_names),
            words(company % len(sectors), sectors),
            pa.array(ticks / 100),
            pa.array(volume),
            words(sells.astype(np.int8), _SIDES),
            pa.array(np.arange(block * BLOCK, (block + 1) * BLOCK)),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=STOCK_SCHEMA)
        block += 1


class _Walk:
    """Prices in ticks as reflected random walks whose direction changes now and then."""

    def __init__(self, companies: int, volatility: float, drift: float, trend: float, seed: int) -> None:
        random = block_random(seed, _STREAM, 0)
        self._price: Ints = random.integers(1_000, 15_000, companies)
        self._volatility = volatility
        self._drift = drift
        self._turning = 1 / trend if trend > 1 else 1.0 if trend else 0.0
        self._strength = _TREND_STRENGTH * volatility if trend else 0.0
        self._direction: Floats = self._strength * random.standard_normal(companies)

    def advance(self, random: np.random.Generator, grouped: Grouped) -> tuple[Ints, Ints]:
        """Prices and price changes of a block's events, in grouped order."""
        count = len(grouped.order)
        noise = random.standard_normal(count)
        turns = random.random(count) < self._turning
        direction = self._turned(random, grouped, turns)
        steps = np.rint(direction + self._drift + self._volatility * noise).astype(np.int64)
        free = grouped.running_sum(steps, self._price[grouped.keys])
        prices = free + np.maximum(0, 1 - grouped.running_min(free))
        self._price[grouped.keys] = prices[grouped.last]
        return prices, steps

    def _turned(self, random: np.random.Generator, grouped: Grouped, turns: np.ndarray) -> Floats:
        """The direction at each event: the one of the last turn, or the one carried from the block before."""
        count = len(turns)
        fresh = self._strength * random.standard_normal(count)
        known = turns.copy()
        known[grouped.first] = True
        unturned = ~turns[grouped.first]
        fresh[grouped.first[unturned]] = self._direction[grouped.keys[unturned]]
        source = np.maximum.accumulate(np.where(known, np.arange(count), 0))
        direction: Floats = fresh[source]
        self._direction[grouped.keys] = direction[grouped.last]
        return direction


class _Falling:
    """Prices that fall by a tick per trade and are still above zero after the last one."""

    def __init__(self, companies: int, events: int) -> None:
        # The block of the last event is made whole before it is cut.
        self._price: Ints = np.full(companies, events + BLOCK + 1, dtype=np.int64)

    def advance(self, _random: np.random.Generator, grouped: Grouped) -> tuple[Ints, Ints]:
        """Prices and price changes of a block's events, in grouped order."""
        prices = self._price[grouped.keys][grouped.run] - 1 - grouped.ranks()
        self._price[grouped.keys] = prices[grouped.last]
        return prices, np.full(len(prices), -1, dtype=np.int64)
