"""Kafka without Spark's connector: topic → DataFrame of events, by Spark's Python data sources on confluent-kafka.

A micro-batch is a range of offsets per partition of the topic. The ranges are in Spark's checkpoint, so a stream goes
on where it ended; nothing is committed to Kafka. What a range names and Kafka no longer has is an error, never a gap.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from greta.errors import DataError, SetupError
from greta.spark.compat import SupportsTriggerAvailableNow
from greta.spark.stream.records import Records

FORMAT = "greta_kafka"
_SETTING = "kafka."
"""How options begin that are settings of Kafka's client, here as with Spark's connector."""

_RANGE = 200_000
"""Records of a partition that one task reads: a long range is cut, so that all cores read."""
_FETCH = 20_000
_SECONDS = 30.0
"""How long a broker may be silent, unless ``patience`` says otherwise."""
_AGAIN = (
    "is the address right and the broker up, and does --kafka say what it asks for? Start again with the same "
    "checkpoint: nothing is lost"
)


def available() -> bool:
    """Whether this process has confluent-kafka."""
    return find_spec("confluent_kafka") is not None


class KafkaTopic(DataSource):
    """Values of a topic, decoded where they are plain JSON of the declared columns, as ``records`` has it.

    Options: ``servers``, ``topic``, ``columns`` (a schema in Spark's JSON), ``recordsPerTrigger``, the most records per
    micro-batch (Spark 4.2 or later), ``patience``, how many seconds a broker may be silent, and ``kafka.NAME`` for any
    setting of Kafka's client, in lower case as they all are: ``kafka.security.protocol``.
    """

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> StructType:
        """The columns."""
        return self._records().columns

    def _records(self) -> Records:
        text = self.options.get("columns")
        return Records.of(None if text is None else StructType.fromJson(json.loads(text)))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002
        """Read the topic as a stream."""
        limit = int(self.options.get("recordspertrigger", 0))
        return TopicReader(
            self.options["servers"], self.options["topic"], limit, self._records(), self._patience(), self._client()
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802, ARG002
        """Write values into the topic."""
        return TopicWriter(self.options["servers"], self.options["topic"], self._patience(), self._client())

    def _patience(self) -> float:
        return float(self.options.get("patience", _SECONDS))

    def _client(self) -> dict[str, str]:
        return {name.removeprefix(_SETTING): value for name, value in self.options.items() if name.startswith(_SETTING)}


@dataclass
class OffsetRange(InputPartition):
    """Records ``[start, stop)`` of a partition."""

    partition: int
    start: int
    stop: int


class TopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets by partition, ``{"0": 17, "1": 4}``: the next record to read of each.

    Spark keeps one reader while a stream runs; a stream that ends when all is read (``availableNow``) is one of several
    micro-batches where there is a limit, on Spark 4.2 or later.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        limit: int = 0,
        records: Records | None = None,
        patience: float = _SECONDS,
        client: Mapping[str, str] | None = None,
    ) -> None:
        self.servers = servers
        self.topic = topic
        self.limit = limit
        self.records = records or Records.of(None)
        self.patience = patience
        self.client = client or {}
        self._until: dict[str, tuple[int, int]] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The oldest records that Kafka has."""
        return {name: low for name, (low, _) in self._bounds().items()}

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """The most records per micro-batch; asked by Spark 4.2 or later."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

        return ReadMaxRows(self.limit) if self.limit else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note what there is: the stream ends there, whatever comes meanwhile. Asked by Spark 4.2 or later."""
        self._until = self._bounds()

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:  # noqa: N802
        """The newest records, as far as a micro-batch may go; older versions of Spark do not say where it starts."""
        bounds = self._bounds() if self._until is None else self._until
        newest = {name: high for name, (_, high) in bounds.items()}
        if start is None:
            return newest
        _require_all_there(self.topic, start, newest)
        most = getattr(limit, "max_rows", None)
        if most is None:
            return newest
        low = {name: int(start.get(name, first)) for name, (first, _) in bounds.items()}
        return within_limit(low, newest, most)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[OffsetRange]:
        """Ranges of at most ``_RANGE`` records; a ``DataError`` where Kafka ends before the stream has come."""
        _require_all_there(self.topic, start, end)
        first = start if start.keys() >= end.keys() else self.initialOffset() | start
        return [
            OffsetRange(int(name), low, min(low + _RANGE, stop))
            for name, stop in end.items()
            for low in range(int(first[name]), stop, _RANGE)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A range's records, as Arrow batches."""
        assert isinstance(partition, OffsetRange)
        consumer = _consumer(self.servers, self.client)
        try:
            yield from map(self.records.decode, self._values(consumer, partition))
        finally:
            consumer.close()

    def _values(self, consumer: Any, wanted: OffsetRange) -> Iterator[list[bytes]]:
        """The values of a range, in chunks."""
        from confluent_kafka import KafkaError, TopicPartition

        consumer.assign([TopicPartition(self.topic, wanted.partition, wanted.start)])
        reached, heard = wanted.start, time.monotonic()
        while reached < wanted.stop:
            values = []
            for record in consumer.consume(min(_FETCH, wanted.stop - reached), timeout=0.2):
                error = record.error()
                if error is None:
                    reached = record.offset() + 1
                    if record.offset() < wanted.stop and record.value() is not None:
                        values.append(record.value())
                elif error.code() == KafkaError._PARTITION_EOF:
                    # Markers of transactions and compacted records take up offsets and are never handed out.
                    reached = max(reached, record.offset())
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    raise DataError(
                        f"{self.topic}, partition {wanted.partition}: Kafka no longer has the records from {reached} "
                        "on",
                        hint="they were deleted before they were read; keep them longer (retention.ms), or start with "
                        "a new checkpoint and a new output at the oldest that are there",
                    )
                else:
                    # A broker that is away is told of again and again; the client goes on trying by itself.
                    continue
                heard = time.monotonic()
            if values:
                yield values
            elif time.monotonic() - heard > self.patience:
                raise _silent(self.servers, self.topic, self.patience)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing: Spark's checkpoint has the offsets."""

    def _bounds(self) -> dict[str, tuple[int, int]]:
        from confluent_kafka import KafkaException, TopicPartition

        consumer = _consumer(self.servers, self.client)
        try:
            found = consumer.list_topics(self.topic, timeout=self.patience).topics[self.topic]
            if found.error is not None or not found.partitions:
                raise DataError(
                    f"kafka:{self.servers}/{self.topic}: there is no such topic",
                    hint="create it first; records may come later",
                )
            names = sorted(found.partitions)
            return {
                str(number): consumer.get_watermark_offsets(TopicPartition(self.topic, number), timeout=self.patience)
                for number in names
            }
        except KafkaException as error:
            raise _silent(self.servers, self.topic, self.patience) from error
        finally:
            consumer.close()


def within_limit(start: dict[str, int], newest: dict[str, int], limit: int) -> dict[str, int]:
    """Where a micro-batch ends: each partition gives in proportion to what it has waiting.

    Partitions of a backlog then end together, so their times stay near each other.

    >>> within_limit({"0": 0, "1": 0}, {"0": 300, "1": 100}, 200)
    {'0': 150, '1': 50}
    """
    waiting = {name: newest[name] - low for name, low in start.items()}
    total = sum(waiting.values())
    if total <= limit:
        return newest
    return {name: low + max(min(1, waiting[name]), waiting[name] * limit // total) for name, low in start.items()}


def _require_all_there(topic: str, start: dict[str, int], end: dict[str, int]) -> None:
    """Refuse to go on where a partition ends before what was read of it, or is no longer there."""
    for name, reached in start.items():
        last = end.get(name)
        if last is None or last < int(reached):
            now = "is no longer there" if last is None else f"ends at {last}"
            raise DataError(
                f"{topic}, partition {name}: records were read up to {reached}, and now the partition {now}",
                hint="was the topic deleted and created again, or did a broker lose records? Start with a new "
                "checkpoint and a new output to read what is there now",
            )


def _consumer(servers: str, settings: Mapping[str, str]) -> Any:
    from confluent_kafka import Consumer

    return _opened(
        Consumer,
        # The group is never joined: partitions are assigned by hand, and offsets are Spark's.
        {"group.id": "greta", "fetch.wait.max.ms": 100},
        settings,
        {
            "bootstrap.servers": servers,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
        },
    )


def _opened(kind: Any, usual: dict[str, Any], settings: Mapping[str, str], fixed: dict[str, Any]) -> Any:
    """A client of Kafka: what is usual may be set otherwise, what is fixed may not.

    Kafka's own error shows the value that it does not take, which may be a password; this one has the name alone.
    """
    from confluent_kafka import KafkaException

    try:
        return kind({"log_level": 0} | usual | dict(settings) | fixed)
    except KafkaException as error:
        if not settings:
            raise
        names = [name for name in settings if name in str(error)] or sorted(settings)
    raise SetupError(
        f"Kafka's client does not take what --kafka says: {', '.join(names)}",
        hint="names and values are those of librdkafka, e.g. security.protocol=SASL_SSL; files must be there on every "
        "executor",
    )


def _silent(servers: str, topic: str, patience: float) -> DataError:
    return DataError(f"kafka:{servers}/{topic}: no answer for {patience:.0f} seconds", hint=_AGAIN)


class TopicWriter(DataSourceStreamWriter):
    """Writes the column ``value``; a micro-batch that is repeated is written again, as with Spark's own connector."""

    def __init__(
        self, servers: str, topic: str, patience: float = _SECONDS, client: Mapping[str, str] | None = None
    ) -> None:
        self.servers = servers
        self.topic = topic
        self.patience = patience
        self.client = client or {}

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Write a task's values, and wait until Kafka has them."""
        from confluent_kafka import Producer

        failed: list[str] = []

        def note(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(error.str())

        producer = _opened(
            Producer,
            {},
            self.client,
            {
                "bootstrap.servers": self.servers,
                "enable.idempotence": True,
                "delivery.timeout.ms": int(self.patience * 1000),
            },
        )
        for row in iterator:
            while True:
                try:
                    producer.produce(self.topic, row[0], on_delivery=note)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(2 * self.patience) or failed:
            reason = failed[0] if failed else "no answer"
            raise DataError(f"kafka:{self.servers}/{self.topic}: rows could not be written: {reason}", hint=_AGAIN)
        return WriterCommitMessage()
