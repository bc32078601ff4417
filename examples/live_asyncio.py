"""A stream behind a socket: trades come in as JSON lines, rows go out as windows end; time goes on in silence, too.

``python examples/live_asyncio.py`` plays both sides on this machine. In a service, keep ``Watcher`` and connect it to
whatever your events come from.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import greta

QUERY = """
RETURN company, COUNT(*) AS falls, MIN(S.price) AS low
PATTERN Stock S+
WHERE [company] AND S.price > NEXT(S).price
GROUP-BY company
WITHIN 1 second SLIDE 500 ms
"""


class Watcher:
    """Pushes what arrives, and lets time go on while nothing does."""

    def __init__(self, stream: greta.Stream, show: Callable[[dict[str, Any]], None], patience: float) -> None:
        self.stream = stream
        self.show = show
        self.patience = patience

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Read lines until the source ends."""
        clock = asyncio.get_running_loop().time
        latest, heard = 0.0, clock()
        while True:
            try:
                line = await asyncio.wait_for(reader.readline(), self.patience)
            except TimeoutError:
                # The source is silent: its time has gone on by as much as ours.
                self._rows(self.stream.advance(latest + clock() - heard))
                continue
            if not line:
                break
            event = json.loads(line)
            latest, heard = max(latest, event["time"]), clock()
            self._rows(self.stream.push(event))
        self._rows(self.stream.close())

    def _rows(self, rows: Any) -> None:
        for row in rows.to_pylist():
            self.show(row)


async def send_trades(writer: asyncio.StreamWriter, seconds: float) -> None:
    """A source: trades of two companies, at random moments, with a pause in the middle."""
    clock = asyncio.get_running_loop().time
    began, draw = clock(), random.Random(5)
    while (now := clock() - began) < seconds:
        trade = {"type": "Stock", "time": now, "company": draw.choice(("acme", "globex")), "price": draw.uniform(9, 11)}
        writer.write(json.dumps(trade).encode() + b"\n")
        await writer.drain()
        await asyncio.sleep(seconds / 3 if abs(now - seconds / 2) < 0.05 else 0.02)
    writer.close()


async def main(seconds: float = 6.0, show: Callable[[dict[str, Any]], None] = print) -> None:
    """Both sides, on a port of this machine."""
    watcher = Watcher(greta.stream(QUERY, lateness="100 ms"), show, patience=0.2)
    done = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await watcher.serve(reader)
        writer.close()
        done.set()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        await send_trades(writer, seconds)
        await done.wait()


if __name__ == "__main__":
    asyncio.run(main())
