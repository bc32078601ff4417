"""The analyzer: a query becomes a plan, the frozen answer to "how will this be computed?" (paper, §3)."""
