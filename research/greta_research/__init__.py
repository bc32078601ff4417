"""What greta is judged by and measured against; it does not ship with greta.

``brute_force`` is the judge of every number, ``rivals`` are other algorithms for the same rows, ``bench`` measures all
of them. Nothing here is needed to answer a query.
"""
