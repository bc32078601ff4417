"""``greta pack``: this package with its kernels compiled, in an archive for Spark's executors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal

from greta.cli.output import examples
from greta.spark import require_pyspark

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command(
    epilog=examples(
        "greta pack greta.tar.gz",
        "spark-submit --conf spark.archives=greta.tar.gz#greta job.py",
        "greta run query.greta -i events/ --master yarn --ship",
    )
)
def pack(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The archive to write.")] = Path("greta.tar.gz"),
) -> None:
    """Pack greta for executors that do not have it, with its kernels compiled for this machine's processor."""
    require_pyspark()
    from greta.spark.sessions.shipping import pack as write

    write(file)
    console = Console(stderr=True, highlight=False)
    console.print(
        f"{file}: {decimal(file.stat().st_size)}; use it with --conf spark.archives={file}#greta", soft_wrap=True
    )
