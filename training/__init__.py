"""Data, models and their evaluation: thin layers on the library, run from the repository's root."""
