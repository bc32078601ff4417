"""Streams in this process: events in as they come, the rows of a window out when it ends; no Spark."""
