"""Keep the extension of the site out of the doctests: it needs Griffe, which they do not."""

collect_ignore = ["_docstrings.py"]
