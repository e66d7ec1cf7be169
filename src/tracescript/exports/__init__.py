"""The grammar in the forms that engines read besides Lark's, which is `grammar_text`."""

from tracescript.exports.gbnf import to_gbnf
from tracescript.exports.token_text import token_grammar

__all__ = ["to_gbnf", "token_grammar"]
