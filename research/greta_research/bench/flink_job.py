"""Run by Flink's own interpreter, where there is no greta: a job as JSON in, count and seconds as JSON out."""

import json
import sys
import time


def main() -> None:
    """Load the events into a temporary view, warm Flink up, run all queries."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    job = json.load(sys.stdin)
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.get_config().set("parallelism.default", "1")
    schema = [name for name, _ in job["columns"]]
    view = tables.from_elements([tuple(row) for row in job["rows"]], schema)
    casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in job["columns"])
    tables.create_temporary_view("raw_events", view)
    tables.execute_sql(f"CREATE TEMPORARY VIEW events AS SELECT {casts} FROM raw_events")
    tables.sql_query("SELECT COUNT(*) FROM events").execute().collect().close()
    began = time.perf_counter()
    # Every job starts a cluster of its own, so all lengths go in one.
    every = " UNION ALL ".join(job["queries"])
    with tables.sql_query(f"SELECT SUM(n) FROM ({every})").execute().collect() as rows:
        count = sum(row[0] for row in rows)
    json.dump({"seconds": time.perf_counter() - began, "count": count}, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
