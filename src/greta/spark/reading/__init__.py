"""Reading: files, tables and paths → DataFrames of events."""
