"""The report on the models: what was judged, its numbers, its plots, its page."""
