"""Other ways to the same rows: brute force as the judge, and what greta is measured against.

Nothing here is needed to answer a query.
"""
