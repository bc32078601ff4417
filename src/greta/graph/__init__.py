"""The paper's own algorithm, to be read beside the paper: a graph of events, walked edge by edge.

``aggregate`` answers a query as ``greta.aggregate`` does, ``build`` returns the graph itself, to look at. Where
each part of the paper is:

=========================================  ==============================================================
Algorithm 2, positive patterns (§4.2)      ``runtime.GretaGraph.process``
Definition 5, invalid events (§5.2)        ``runtime.GretaGraph._invalidate``
Event pruning (§5.2)                       ``panes.Panes.invalidate``, ``runtime.GretaGraph._prune_finished``
Sub-graph sharing between windows (§6)     ``runtime.GretaGraph._link``, ``panes.Vertex.totals``
Predicates (§6)                            ``events`` (on vertices), ``conditions`` (on edges)
Time panes, vertex trees (§7)              ``panes``
Stream transactions, dependencies (§7)     ``run.partition_graphs``, ``runtime.GretaGraph._wait_for_negatives``
Other aggregates, conjunction (§9)         ``totals``
=========================================  ==============================================================

Time is O(n²·k) for n events in k windows each: every edge of the graph is traversed once, and no edge is
kept. Everything is plain Python with exact integers, meant for readers and as a yardstick, not for speed.
"""

from __future__ import annotations

from greta.graph.picture import Graph, Partition, SubGraph, Vertex, build
from greta.graph.run import aggregate

__all__ = ["Graph", "Partition", "SubGraph", "Vertex", "aggregate", "build"]
