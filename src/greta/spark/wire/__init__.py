"""The wire: how events and rows travel between Spark and the engine, in batches and streams alike."""
