"""The studio: write a query, see its template and its rows in a browser."""
