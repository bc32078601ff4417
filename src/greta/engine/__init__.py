"""Plan and columns in, rows out: in this process, in a Spark task, in a Spark state."""
