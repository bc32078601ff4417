"""A plan, shown: in words, tables and pictures; ``greta.plan.explain`` is the way in."""
