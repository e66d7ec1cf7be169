"""The corpus that the tokenizer of the package is trained on, and the training."""
