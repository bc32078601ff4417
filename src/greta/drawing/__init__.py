"""The drawing kit of plans, graphs and the studio: pictures as text, from shapes up. Knows nothing of queries."""
