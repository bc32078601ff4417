"""A consumer of Kafka whose events are neither lost nor counted twice: a snapshot is stored with its offsets.

``python examples/live_kafka.py HOST:PORT TOPIC STATE`` reads trades as JSON from a topic, and goes on from the file
STATE after any end. Without arguments it tries itself out on a broker that librdkafka brings along, and stops half-way.
Needs ``pip install 'greta-trends[kafka]'``.
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as kafka

import greta

QUERY = """
RETURN company, COUNT(*) AS falls
PATTERN Stock S+
WHERE [company] AND S.price > NEXT(S).price
GROUP-BY company
WITHIN 10 seconds SLIDE 5 seconds
"""


def consume(
    address: str, topic: str, state: Path, show: Callable[[dict[str, Any]], None] = print, most: int | None = None
) -> None:
    """Push what comes, and store a snapshot after every batch; ends where ``most`` events have been read."""
    consumer = kafka.Consumer(
        {"bootstrap.servers": address, "group.id": "greta", "enable.auto.commit": False, "log_level": 0}
    )
    offsets: dict[int, int] = {}
    snapshot = None
    if state.exists():
        # Offsets and snapshot are one file, so they cannot be of different moments.
        offsets, snapshot = pickle.loads(state.read_bytes())
    stream = greta.stream(QUERY, lateness="2 seconds", snapshot=snapshot)
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([kafka.TopicPartition(topic, at, offsets.get(at, kafka.OFFSET_BEGINNING)) for at in partitions])
    read = 0
    while most is None or read < most:
        room = 10_000 if most is None else most - read
        messages = [message for message in consumer.consume(room, timeout=0.5) if message.error() is None]
        if not messages:
            continue
        for row in stream.push([json.loads(message.value()) for message in messages]).to_pylist():
            show(row)
        offsets |= {message.partition(): message.offset() + 1 for message in messages}
        draft = state.with_suffix(".draft")
        draft.write_bytes(pickle.dumps((offsets, stream.snapshot())))
        draft.replace(state)
        read += len(messages)
    consumer.close()


def try_out(show: Callable[[dict[str, Any]], None] = print) -> None:
    """A broker of its own, 60 seconds of trades, and a consumer that is stopped and started again."""
    broker = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
    brokers = broker.list_topics(timeout=30).brokers.values()
    address = ",".join(f"{each.host}:{each.port}" for each in brokers)
    producer = kafka.Producer({"bootstrap.servers": address, "log_level": 0})
    for at in range(240):
        trade = {"type": "Stock", "time": at / 4, "company": f"c{at % 2}", "price": float(at * 7919 % 101)}
        producer.produce("trades", json.dumps(trade).encode(), partition=0)
    producer.flush(30)
    with tempfile.TemporaryDirectory() as directory:
        state = Path(directory) / "state"
        consume(address, "trades", state, show, most=100)
        consume(address, "trades", state, show, most=140)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        consume(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    else:
        try_out()
