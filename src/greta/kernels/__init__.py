"""Compiled loops over plain arrays. They know no queries: the engine translates plans into their arrays."""
