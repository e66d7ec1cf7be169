r"""Text to token ids and back, exactly.

>>> from tracescript.tokens import Tokenizer
>>> tokenizer = Tokenizer.default("symbol")
>>> [tokenizer.token_bytes(token) for token in tokenizer.encode("GetLoops b-1 -> l3\n")]
[b'GetLoops', b' b-1', b' ->', b' l3', b'\n']
"""

from tracescript.errors import TokenizerError
from tracescript.tokens.symbols import VOCABULARY_VERSION
from tracescript.tokens.tokenizer import Level, Tokenizer

__all__ = ["VOCABULARY_VERSION", "Level", "Tokenizer", "TokenizerError"]
