"""From text to a syntax tree by `grammar/workload.lark`, and errors with a place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias, cast

from lark import Lark, Token, Tree, UnexpectedInput

from tracescript._grammar import read_grammar
from tracescript.errors import TraceSyntaxError
from tracescript.workloads.model import MAX_TREE_DEPTH

__all__ = ["MAX_CHARACTERS", "TERMINALS", "Node", "Source"]

Node: TypeAlias = "Token | Tree[Token]"

MAX_CHARACTERS = 100_000
"""A text may be this long."""

TERMINALS = {
    "AMPERSAND": "'&'",
    "AT": "'@'",
    "BANG": "'!'",
    "BAR": "' |' and extents of a reduction",
    "BUFFER": "a buffer such as A",
    "COLON": "':'",
    "EQUAL": "'='",
    "FACTOR": "an operator such as *",
    "FLOAT": "a number",
    "FUNCTION": "a function such as exp(",
    "INT": "a number",
    "INFINITY": "inf",
    "KEYWORD": "true, false, null or nan",
    "LBRACE": "'{'",
    "LESS": "a comparison such as <",
    "COMPARISON": "a comparison such as ==",
    "MINUS": "a negative number",
    "LIMIT": "a number",
    "RBRACE": "'}'",
    "REDUCER": "a reduction such as +/",
    "SHARED": "a shared part such as a",
    "SHIFT": "a shift such as <<",
    "SIGN": "+ or -",
    "STRING": 'a string such as "main"',
    "_INDEX": "' index ' and a dtype",
    "_PARAMS": "' params('",
    "VARIABLE": "an iteration variable such as i",
    "QMARK": "'?'",
    "VBAR": "'|'",
    "WORD": "a target such as h100",
    "_AS": "' as ' and a dtype",
    "_CLOSE": "')'",
    "_COLON": "': ' and what is computed",
    "_COMMA": "','",
    "_LSQB": "'['",
    "_NEWLINE": "the end of the line",
    "_OPEN": "'('",
    "_RSQB": "']'",
    "_SEMICOLON": "';'",
    "_SPACE": "one blank and another item",
    "$END": "the end of the text",
}
"""What the terminals of the grammar are called in an error."""


@lru_cache(maxsize=1)
def _lark() -> Lark:
    return Lark(read_grammar("workload.lark"), parser="lalr", propagate_positions=True)


class Source:
    """A text, and what finds places in it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def tree(self) -> Tree[Token]:
        """The syntax tree of the text; its depth is bounded.

        Raises:
            TraceSyntaxError: the text does not fit the grammar, or is too long or too deep.
        """
        if len(self._text) > MAX_CHARACTERS:
            raise self._error_at(
                MAX_CHARACTERS, f"the text has more than {MAX_CHARACTERS} characters"
            )
        # Step by step, for the state of the parser where it stops: it knows what would
        # have been accepted, where the errors list what the tables merely mention.
        parser: Any = cast("Any", _lark()).parse_interactive(self._text)
        try:
            parser.exhaust_lexer()
            tree = cast("Tree[Token]", parser.feed_eof())
        except UnexpectedInput as error:
            token: Token | None = getattr(error, "token", None)
            ended = token is not None and token.type == "$END"
            position = len(self._text) if ended else cast("int", error.pos_in_stream)
            expected = {TERMINALS[name] for name in cast("set[str]", parser.accepts())}
            raise self._error_at(position, self._complaint(position), expected) from None
        self._require_shallow(tree)
        return tree

    def slice(self, tree: Tree[Token]) -> str:
        """The text of a part."""
        meta: Any = tree.meta
        return self._text[meta.start_pos : meta.end_pos]

    def error(self, node: Node, message: str) -> TraceSyntaxError:
        """The error at a part of the text."""
        place: Any = node if isinstance(node, Token) else node.meta
        return self._error_at(place.start_pos, message)

    def _require_shallow(self, tree: Tree[Token]) -> None:
        waiting: list[tuple[Tree[Token], int]] = [(tree, 0)]
        while waiting:
            inside, depth = waiting.pop()
            # The line, the computation and its parts come above the expression.
            if depth > MAX_TREE_DEPTH + 4:
                raise self.error(inside, f"more than {MAX_TREE_DEPTH} levels of an expression")
            waiting += [(each, depth + 1) for each in inside.children if isinstance(each, Tree)]

    def _complaint(self, position: int) -> str:
        if position == len(self._text):
            return "the text ends too early"
        if self._text[position] == "\n":
            return "the line ends too early"
        return f"{self._text[position]!a} cannot stand here"

    def _error_at(
        self, position: int, message: str, expected: set[str] | None = None
    ) -> TraceSyntaxError:
        line = self._text.count("\n", 0, position) + 1
        return TraceSyntaxError(
            message,
            line=line,
            column=position - self._text.rfind("\n", 0, position),
            source_line=self._text.split("\n", line)[line - 1],
            expected=tuple(sorted(expected or ())),
        )
