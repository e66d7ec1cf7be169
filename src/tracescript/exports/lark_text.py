"""Read the text of a grammar, with Lark's own grammar for grammars."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tracescript.exports.nodes import Choice, Name, Node, Repeat, Rules, Sequence, Text
from tracescript.exports.patterns import QUANTIFIERS, read_pattern

__all__ = ["read_grammar"]


def read_grammar(text: str) -> Rules:
    """The rules and terminals of a grammar in the dialect that all engines share.

    Raises:
        ValueError: the grammar has something that the dialect does not have.
    """
    rules: Rules = {}
    for item in _parser().parse(text).children:
        if item.data not in ("rule", "token"):
            raise _no_part(item.data.replace("_", " "))
        name, parameters, *priority, body = item.children
        if priority or parameters.children != [None]:
            raise _no_part(f"{name} with a priority or parameters")
        rules[name.lstrip("?!")] = _node(body)
    return rules


@cache
def _parser() -> Any:
    # Imported late: it takes longer to load than most of the package.
    from lark import Lark

    lark: Any = Lark
    return lark.open_from_package("lark", "lark.lark", ("grammars",), parser="lalr")


def _no_part(found: str) -> ValueError:
    return ValueError(f"grammar: expected rules and terminals of the shared dialect, found {found}")


def _node(tree: Any) -> Node:
    match tree.data:
        case "alias":
            return _node(tree.children[0])
        case "expansions":
            return Choice(tuple(map(_node, tree.children)))
        case "expansion":
            return Sequence(tuple(map(_node, tree.children)))
        case "expr":
            return _repeat(*tree.children)
        case "maybe":
            return Repeat(_node(tree.children[0]), 0, 1)
        case "name":
            return Name(str(tree.children[0]))
        case "literal":
            return _literal(str(tree.children[0]))
        case _:
            raise _no_part(tree.data.replace("_", " "))


def _repeat(atom: Any, least: str | None, most: str | None = None) -> Node:
    if least is None:
        return _node(atom)
    if least in QUANTIFIERS:
        return Repeat(_node(atom), *QUANTIFIERS[least])
    return Repeat(_node(atom), int(least), int(most or least))


def _literal(text: str) -> Node:
    if text[0] != text[-1]:
        raise _no_part(f"the flag of {text}")
    if text[0] == "/":
        return read_pattern(text[1:-1].replace("\\/", "/"))
    try:
        return Text(json.loads(text))
    except json.JSONDecodeError:
        raise _no_part(f"the escape in {text}") from None
