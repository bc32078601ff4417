"""``--metrics PORT``: a stream's figures as Prometheus reads them, served on loopback."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from greta.errors import SetupError

if TYPE_CHECKING:
    from greta.spark.stream.run import Status

_SUMMED = "earlier runs included where the output is a directory of this machine, else since the start"
"""The sums of earlier runs are in the log of figures, which lies beneath such a directory alone."""
_HELP = {
    "events_total": ("counter", "Events read since the start."),
    "rows_total": ("counter", "Rows written since the start."),
    "late_events_total": ("counter", f"Events dropped because they came too late, {_SUMMED}."),
    "bad_records_total": ("counter", f"Records skipped because they cannot be read, {_SUMMED}."),
    "batches_total": ("counter", "Micro-batches since the start."),
    "batch": ("gauge", "Number of the last micro-batch."),
    "batch_seconds": ("gauge", "Time that the last micro-batch took."),
    "events_per_second": ("gauge", "Events per second of the last micro-batch."),
    "lag_seconds": ("gauge", "How far the clock is ahead of the latest event."),
    "open_windows": ("gauge", "Windows that are not over yet."),
    "state_rows": ("gauge", "Events kept for open windows."),
    "state_bytes": ("gauge", "Bytes kept for open windows."),
    "buckets_at_close": ("gauge", "Buckets whose windows were computed from their events when they ended."),
    "last_row_timestamp_seconds": ("gauge", "End of the last window that had a row."),
}

_GAUGES = (
    "batch",
    "batch_seconds",
    "events_per_second",
    "open_windows",
    "state_rows",
    "state_bytes",
    "buckets_at_close",
)
"""Figures that are those of the last micro-batch, under the same names."""


class Metrics:
    """Figures of the micro-batches so far, and the server that shows them."""

    def __init__(self, port: int) -> None:
        self._values: dict[str, float] = dict.fromkeys(("events_total", "rows_total", "batches_total"), 0.0)
        metrics = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = metrics.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that Python calls
                """Requests are not worth a line."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise SetupError(f"port {port} cannot be used for --metrics: {error}", hint="name another") from error
        self.port = self._server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}/metrics"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, status: Status) -> None:
        """Take in a micro-batch."""
        values = dict(self._values)
        values["events_total"] += status.events
        values["rows_total"] += status.rows
        values["batches_total"] += 1
        values |= {"late_events_total": status.late_events, "bad_records_total": status.bad_records}
        for name in _GAUGES:
            values[name] = getattr(status, name)
        if status.lag_seconds is not None:
            values["lag_seconds"] = status.lag_seconds
        if status.last_row_seconds is not None:
            values["last_row_timestamp_seconds"] = status.last_row_seconds
        self._values = values

    def text(self) -> str:
        """What Prometheus reads."""
        lines = []
        for name, value in self._values.items():
            kind, meaning = _HELP[name]
            lines += [f"# HELP greta_{name} {meaning}", f"# TYPE greta_{name} {kind}", f"greta_{name} {value:.15g}"]
        return "\n".join(lines) + "\n"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
