"""Benchmarks: data that names its claim, repeats, timeouts kept, machine and versions recorded."""
