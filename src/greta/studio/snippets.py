"""A query and its data, as the page has them → programs that give the same rows: Python, shell, Spark."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from greta.datasets.files import format_of

_EPOCH = {
    "s": "F.timestamp_seconds({})",
    "ms": "F.timestamp_millis({})",
    "us": "F.timestamp_micros({})",
    "ns": "F.timestamp_micros(({} / 1000).cast('long'))",
}


def snippets(query: str, source: Mapping[str, Any], numbers: Literal["double", "exact"]) -> dict[str, str]:
    """Texts to paste. An uploaded file is named as its owner calls it, without its directory."""
    text = query.strip()
    given = ', numbers="exact"' if numbers == "exact" else ""
    python = f"{_python_events(source)}\nquery = {_quoted(text)}\n"
    shell = f"{_shell_events(source)}{_shell_run(text, source, numbers)}\n"
    return {
        "python": f"import greta\n{python}print(greta.aggregate(events, query{given}).to_pandas())\n",
        "shell": shell,
        "spark": f"import greta.spark\n{_spark_events(source)}query = {_quoted(text)}\n"
        f"greta.spark.aggregate(events, query{given}).show()\n",
    }


def _quoted(text: str) -> str:
    """A text as a Python literal on several lines, as people would write it."""
    if '"""' in text or "\\" in text or text.endswith('"'):
        return repr(text)
    return f'"""\n{text}\n"""'


def _file(source: Mapping[str, Any]) -> str:
    return Path(source["path"]).name


def _python_events(source: Mapping[str, Any]) -> str:
    if "sample" in source:
        return f"from greta.studio import samples\n\nevents = samples.events({json.dumps(source['sample'])})"
    options = {
        "time": source.get("time"),
        "time_unit": source.get("time_unit"),
        "type_column": source.get("type"),
        "event_type": None if source.get("type") else source.get("event_type"),
    }
    written = "".join(f", {name}={value!r}" for name, value in options.items() if value)
    return f"from greta import datasets\n\nevents = datasets.load({_file(source)!r}{written})"


def _shell_events(source: Mapping[str, Any]) -> str:
    if "sample" not in source:
        return ""
    name = source["sample"]
    program = f"from greta.studio import samples; samples.save({name!r}, {name + '.parquet'!r})"
    return f"python -c {shlex.quote(program)}\n"


def _shell_run(text: str, source: Mapping[str, Any], numbers: str) -> str:
    options = []
    if "sample" in source:
        events = f"{source['sample']}.parquet"
    else:
        events = _file(source)
        if not source.get("type"):
            events = f"{source.get('event_type') or 'Event'}={events}"
        options += [
            f"{option} {shlex.quote(value)}"
            for option, value, usual in (
                ("--time", source.get("time"), "time"),
                ("--time-unit", source.get("time_unit"), ""),
                ("--type", source.get("type"), "type"),
            )
            if value and value != usual
        ]
    if numbers == "exact":
        options.append("--numbers exact")
    rest = "".join(f" {option}" for option in options)
    end = "QUERY" if "QUERY" not in text.splitlines() else "END_OF_QUERY"
    return f"cat > query.greta <<'{end}'\n{text}\n{end}\ngreta run query.greta --input {shlex.quote(events)}{rest}"


def _spark_events(source: Mapping[str, Any]) -> str:
    """Lines that make ``spark`` and ``events``."""
    session = "from pyspark.sql import SparkSession\n\nspark = SparkSession.builder.getOrCreate()\n"
    if "sample" in source:
        made = "events = spark.createDataFrame(samples.events({}).to_pandas())\n".format(json.dumps(source["sample"]))
        return "from greta.studio import samples\n" + session + made
    file = _file(source)
    read = {
        "csv": f"spark.read.csv({file!r}, header=True, inferSchema=True)",
        "jsonl": f"spark.read.json({file!r})",
        "parquet": f"spark.read.parquet({file!r})",
    }[format_of(Path(file))]
    time, unit, steps = source.get("time") or "time", source.get("time_unit"), ""
    if unit:
        steps += f".withColumn({time!r}, {_EPOCH[unit].format(f'F.col({time!r})')})"
    if time != "time":
        steps += f".withColumnRenamed({time!r}, 'time')"
    if not source.get("type"):
        steps += f".withColumn('type', F.lit({source.get('event_type') or 'Event'!r}))"
    elif source["type"] != "type":
        steps += f".withColumnRenamed({source['type']!r}, 'type')"
    functions = "from pyspark.sql import functions as F\n" if "F." in steps else ""
    return functions + session + f"events = {read}{steps}\n"
