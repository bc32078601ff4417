"""The engine: a plan over columns of events, computed in this process; Spark's executors run the same code.

This package imports nothing by itself: reading events, times and values works without the compiled kernels.
"""
