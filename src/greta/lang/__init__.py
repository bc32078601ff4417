"""The query language: text → frozen syntax tree → text."""
