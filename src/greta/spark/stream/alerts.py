"""Rows on their way to a sink, posted to an address as JSON: one request per row, the rows themselves pass unchanged.

A task that Spark repeats posts its rows again, under the same key, so that a receiver can drop repeats. A receiver that
stays away ends the micro-batch, and with it the stream: started again, it posts what was not yet written.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from greta.errors import DataError
from greta.spark.wire.carrier import carry_map

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY = "Idempotency-Key"
"""The header with a row's key: the same for the same row, whenever it is posted."""

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Poster:
    """Posts every row that passes."""

    address: str
    names: tuple[str, ...]
    """Names of the rows' columns, which travel by position."""
    attempts: int = 6
    """Requests per row before the stream ends; waits double from half a second on."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Post a task's rows and hand them on."""
        for batch in batches:
            for row in batch.rename_columns(list(self.names)).to_pylist():
                self.post(row)
            yield batch

    def post(self, row: dict[str, Any]) -> None:
        """Post a row; 4xx answers but 408 and 429 are final."""
        finite = {name: _finite(value) for name, value in row.items()}
        body = json.dumps(finite, default=_plain, sort_keys=True, allow_nan=False).encode()
        headers = {"Content-Type": "application/json", KEY: hashlib.sha256(body).hexdigest()[:32]}
        reason = ""
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(0.5 * 2 ** (attempt - 1))
            request = urllib.request.Request(self.address, body, headers, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=_SECONDS):
                    return
            except urllib.error.HTTPError as error:
                reason = f"it answers {error.code}"
                if 400 <= error.code < 500 and error.code not in (408, 429):
                    break
            except OSError as error:
                reason = str(error)
        raise DataError(
            f"rows cannot be posted to {self.address}: {reason}",
            hint="once it takes them, start the stream again with the same checkpoint: it goes on with these rows",
        )


def posting(rows: DataFrame, address: str) -> DataFrame:
    """The same rows, each posted to an http or https address on its way."""
    if not address.startswith(("http://", "https://")):
        raise DataError(f"{address} is no http or https address", hint="--alert https://host/path")
    names = tuple(rows.columns)
    # Names with dots in them are no names to the function that calls Python.
    plain = rows.toDF(*(f"c{at}" for at in range(len(names))))
    posted = plain.mapInArrow(carry_map(Poster(address, names)), plain.schema)
    return posted.toDF(*names)


def _finite(value: Any) -> Any:
    """A number as JSON has it: what is beyond doubles is text there."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            raise TypeError(type(value).__name__)
