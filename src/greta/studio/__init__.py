"""greta studio: a local web page that shows what a query means on events, and follows a running stream.

A thin server (``app``) hands every question about a query or a file to worker processes (``workers`` →
``worker``), so that nothing a user types or uploads can stop it. ``static`` is all that a browser gets.
"""
