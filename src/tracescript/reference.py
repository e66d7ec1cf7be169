"""Text to model by the grammar itself: the reference that the fast decoder is held to.

`decode` turns to this module only for a text that it cannot read, so its job in
daily life is to say exactly what is wrong and where.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar, cast

from lark import Lark, Token, Tree, UnexpectedInput

from tracescript._grammar import grammar_text
from tracescript.errors import TraceSyntaxError, TraceVersionError
from tracescript.literals import STRING_START, parse_float, parse_int, unquote
from tracescript.model import MAX_DEPTH, NULL, Decision, Input, Instruction, Trace, Value, bare
from tracescript.scope import Scope, ScopeError

__all__ = ["TERMINALS", "parse", "parse_value"]

T = TypeVar("T")
Node: TypeAlias = "Token | Tree[Token]"

TERMINALS = {
    "BARE": 'a bare text such as @"name"',
    "BARE_NULL": "@null",
    "FALSE": "false",
    "FLOAT": "a float such as 0.5",
    "INT": "an integer such as 4",
    "LATE": "a late decision such as '@7 = 1'",
    "LBRACE": "'{'",
    "LSQB": "'['",
    "NAME": "an instruction kind such as Split",
    "NULL": "null",
    "RBRACE": "'}'",
    "REF": "a reference such as b-1",
    "RSQB": "']'",
    "RUN": "an output such as b or l3",
    "SPACED_FLOAT": "one blank and another item",
    "SPACED_INT": "one blank and another item",
    "STRING": 'a string such as "main"',
    "TRUE": "true",
    "_ARROW": "' -> ' and outputs",
    "_BAR": "' | ' and attributes",
    "_COLON": "': ' and a value",
    "_EQUALS": "' = ' and a decision",
    "_HEADER": "the header 'tracescript 1'",
    "_NEWLINE": "the end of the line",
    "_SPACE": "one blank and another item",
    "$END": "the end of the script",
}
"""What the terminals of the grammar are called in an error."""

_unfinished_string = re.compile("@?" + STRING_START).match
_header_version = re.compile(r"tracescript ([0-9]{1,18})\r?(?:\n|$)").match


def parse(text: str) -> Trace:
    r"""Read a script with Lark: the law and the errors of `loads`, at a fraction of its speed.

    >>> parse("tracescript 1\nGetLoops b-1 -> l3\n")
    Traceback (most recent call last):
    ...
    tracescript.errors.TraceSyntaxError: line 2, column 10: b-1 refers too far back: ...
    """
    version = _header_version(text)
    if version and version[1] != "1":
        raise TraceVersionError(version[1], supported=1, source_line=_source_line(text, 1))
    return _Reader(text).trace(_tree(text, "start"))


def parse_value(text: str) -> Value:
    """Read the text of one plain value with Lark."""
    return _Reader(text).value(_tree(text, "value"))


@lru_cache(maxsize=1)
def _lark() -> Lark:
    return Lark(grammar_text(), parser="lalr", start=["start", "value"], propagate_positions=True)


def _tree(text: str, start: str) -> Tree[Token]:
    # Step by step, for the state of the parser where it stops: it knows what would
    # have been accepted, where the errors list what the tables merely mention.
    parser: Any = cast("Any", _lark()).parse_interactive(text, start=start)
    position = len(text)
    try:
        parser.exhaust_lexer()
        return parser.feed_eof()
    except UnexpectedInput as error:
        token: Token | None = getattr(error, "token", None)
        if token is None or token.type != "$END":
            position = cast("int", error.pos_in_stream)
        raise _syntax_error(text, position, parser.accepts()) from None


class _Reader:
    """Turns the tree of one script into a trace, from the first line to the last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._scope = Scope()

    def trace(self, tree: Tree[Token]) -> Trace:
        """Read a script."""
        insts: list[Instruction] = []
        decisions: list[Decision] = []
        for line in cast("list[Tree[Token]]", tree.children):
            if line.data == "late_decision":
                late, value = line.children
                decisions.append(Decision(parse_int(str(late)[1:]), self.value(value)))
                continue
            parts = {part.data: part.children for part in cast("list[Tree[Token]]", line.children)}
            if "decision" in parts:
                decisions.append(Decision(len(insts), self.value(parts["decision"][0])))
            insts.append(self._instruction(parts))
        return Trace(tuple(insts), tuple(decisions))

    def _instruction(self, parts: dict[str, list[Node]]) -> Instruction:
        (kind,) = cast("list[Token]", parts["kind"])
        inputs = [self._input(node, 0) for node in parts.get("inputs", ())]
        attrs = [self.value(node) for node in parts.get("attrs", ())]
        tokens = [
            cast("Token", output.children[0])
            for output in cast("list[Tree[Token]]", parts.get("outputs", ()))
        ]
        for before, token in pairwise(tokens):
            if before.type == token.type == "RUN" and before[0] == token[0]:
                raise self._error(token, f"two runs of {token[0]} in a row; write them as one")
        outputs = [name for token in tokens for name in self._output(token)]
        name = unquote(kind) if kind.type == "STRING" else str(kind)
        return Instruction(name, tuple(inputs), tuple(attrs), tuple(outputs))

    def _output(self, token: Token) -> tuple[str, ...]:
        if token.type == "BARE":
            return self._at(token, self._scope.define_named, unquote(token[1:]))
        return self._at(token, self._scope.define, token[0], parse_int(token[1:] or "1"))

    def _input(self, node: Node, depth: int) -> Input:
        if isinstance(node, Tree):
            if node.data == "input_list":
                self._check_depth(node, depth)
                return tuple([self._input(child, depth + 1) for child in node.children])
            return self.value(node, depth)
        if node.type == "REF":
            return self._at(node, self._scope.resolve, node[0], parse_int(node[2:]))
        if node.type == "BARE":
            return bare(unquote(node[1:]))
        if node.type == "BARE_NULL":
            return NULL
        return self.value(node, depth)

    def value(self, node: Node, depth: int = 0) -> Value:
        """Read a plain value."""
        if isinstance(node, Tree):
            self._check_depth(node, depth)
            inside = partial(self.value, depth=depth + 1)
            if node.data == "list":
                return tuple([inside(child) for child in node.children])
            return self._dict(node, inside)
        if node.type in ("FLOAT", "SPACED_FLOAT"):
            return self._at(node, parse_float, str(node))
        return _SCALARS[node.type](str(node))

    def _dict(self, node: Tree[Token], inside: Callable[[Node], Value]) -> dict[str, Value]:
        entries: dict[str, Value] = {}
        for pair in cast("list[Tree[Token]]", node.children):
            token, value = pair.children
            key = unquote(cast("Token", token))
            if key in entries:
                raise self._error(cast("Token", token), "this key is in the dict already")
            entries[key] = inside(value)
        return entries

    def _check_depth(self, node: Tree[Token], depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise self._error(node.meta, f"more than {MAX_DEPTH} levels of lists and dicts")

    def _at(self, token: Token, function: Callable[..., T], *arguments: object) -> T:
        """Call a function whose failure is a fault of the text at `token`."""
        try:
            return function(*arguments)
        except (ScopeError, ValueError) as error:
            raise self._error(token, str(error)) from None

    def _error(self, place: Any, message: str) -> TraceSyntaxError:
        line: int = place.line
        source_line = _source_line(self._text, line)
        return TraceSyntaxError(message, line=line, column=place.column, source_line=source_line)


_SCALARS: dict[str, Callable[[str], Value]] = {
    "STRING": unquote,
    "INT": parse_int,
    "SPACED_INT": lambda text: parse_int(text[1:]),
    "TRUE": lambda _: True,
    "FALSE": lambda _: False,
    "NULL": lambda _: None,
}


def _syntax_error(text: str, position: int, accepted: set[str]) -> TraceSyntaxError:
    """Say in our words where Lark stopped and what it would have taken there."""
    string = _unfinished_string(text, position) if accepted & {"STRING", "BARE"} else None
    if string is not None:
        # Lark stops where a bad string begins; we go on to what is bad about it.
        position = string.end()
        complaint, expected = _string_complaint(text[position : position + 1]), ()
    else:
        complaint = _complaint(text, position)
        expected = tuple(sorted({TERMINALS[name] for name in accepted}))
    line = text.count("\n", 0, position) + 1
    return TraceSyntaxError(
        complaint,
        line=line,
        column=position - text.rfind("\n", 0, position),
        source_line=_source_line(text, line),
        expected=expected,
    )


def _string_complaint(char: str) -> str:
    if char in ("", "\n"):
        return "the string does not end on its line"
    if char == "\\":
        return r"this is no escape; there are \" \\ \n \r \t and \u{...}, a code point in hex"
    return f"a string cannot hold {char!a} as it is; write \\u{{{ord(char):x}}}"


def _complaint(text: str, position: int) -> str:
    if position == len(text):
        return "the script ends in the middle of a line"
    if text[position] == "\n":
        return "the line ends too early"
    if text[position] == "\r":
        return "a carriage return; lines end with a newline alone"
    if text[position - 1 : position + 1] == "  ":
        return "a second blank; items are one blank apart"
    return f"{text[position]!a} cannot stand here"


def _source_line(text: str, line: int) -> str:
    return text.split("\n", line)[line - 1]
