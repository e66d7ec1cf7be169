"""The model: its vocabulary, its sequences, its network, and sampling from it."""
