"""The folder of the model: config.json, model.safetensors, tokenizer.json."""

from pathlib import Path

__all__ = ["FOLDER"]

FOLDER = Path(__file__).parent
"""What `tracescript.proposals.Proposer` takes."""
