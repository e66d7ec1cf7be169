r"""GBNF, the form of grammar that llama.cpp reads, and with it engines that read EBNF.

Law: the text takes the same scripts as the Lark text that it is made from.
"""

from __future__ import annotations

from tracescript._grammar import grammar_text
from tracescript.exports.lark_text import read_grammar
from tracescript.exports.nodes import (
    SIGNS,
    Chars,
    Choice,
    Name,
    Node,
    Repeat,
    Rules,
    Sequence,
    Text,
)

__all__ = ["lark_to_gbnf", "to_gbnf"]

_HEAD = """\
# TraceScript, format 1{release}, in GBNF. Made from the grammar in Lark's form,
# which is the definition of the language.
"""
_WIDTH = 100


def to_gbnf(tvm: str | None = None) -> str:
    r"""A grammar in GBNF, for llama.cpp and for engines that read EBNF, such as xgrammar.

    The start rule is `root`. The text keeps to what every reader of GBNF has known from the
    beginning: names of letters and digits, no bounded repetition, no left recursion.

    Args:
        tvm: the release of a strict grammar, such as "0.27"; None for the open grammar.

    Raises:
        ValueError: there is no strict grammar for the release.

    >>> print(*[line for line in to_gbnf("0.27").split("\n") if line[:5] == "split"])
    split ::= "Split" SPACE LOOP SPACE factor (SPACE factor)* BAR FLAG SPACE FLAG ARROW LOOPS
    """
    release = f" as TVM {tvm} writes it" if tvm is not None else ""
    return _HEAD.format(release=release) + "\n" + lark_to_gbnf(grammar_text(tvm=tvm))


def lark_to_gbnf(text: str) -> str:
    """Translate a grammar in the shared dialect; rules out of reach of `start` are left out.

    Raises:
        ValueError: the grammar has something that is not in the dialect.
    """
    rules = _reachable(read_grammar(text))
    printer = _Printer(_names(rules))
    return "".join([printer.rule(name, node) for name, node in rules.items()])


def _reachable(rules: Rules) -> Rules:
    found: set[str] = set()
    waiting = ["start"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _names_in(rules[name])
    return {name: node for name, node in rules.items() if name in found}


def _names_in(node: Node) -> list[str]:
    match node:
        case Name(name):
            return [name]
        case Sequence(items) | Choice(items):
            return [name for item in items for name in _names_in(item)]
        case Repeat(item, _, _):
            return _names_in(item)
        case _:
            return []


def _names(rules: Rules) -> dict[str, str]:
    """Letters and digits only: `int_list` is `intList`, `_NEWLINE` is `NEWLINE`.

    Some readers make one name of two that differ in case only, so a second gets a number.
    """
    names = {"start": "root"}
    taken = {"root"}
    for name in rules:
        if name == "start":
            continue
        first, *others = name.strip("_").split("_")
        plain = first + "".join([word[:1].upper() + word[1:] for word in others])
        numbered = (plain + str(number or "") for number in [0, *range(2, len(rules) + 2)])
        names[name] = next(new for new in numbered if new.lower() not in taken)
        taken.add(names[name].lower())
    return names


class _Printer:
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def rule(self, name: str, node: Node) -> str:
        head = f"{self._names[name]} ::= "
        line = head + self._text(node)
        if isinstance(node, Choice) and len(line) > _WIDTH:
            # GBNF lets a rule go on in the next line only after a bar.
            line = head + " |\n    ".join(map(self._text, node.items))
        return line + "\n"

    def _text(self, node: Node) -> str:
        match node:
            case Text(text):
                return _quoted(text)
            case Chars(ranges, negated):
                spans = [
                    _char(low) + (f"-{_char(high)}" if high > low else "") for low, high in ranges
                ]
                return f"[{'^' if negated else ''}{''.join(spans)}]"
            case Name(name):
                return self._names[name]
            case Sequence(items):
                return " ".join(map(self._operand, items)) or '""'
            case Choice(items):
                return " | ".join(map(self._text, items))
            case _:
                return self._repeat(node.item, node.least, node.most)

    def _operand(self, node: Node) -> str:
        text = self._text(node)
        return f"({text})" if isinstance(node, Choice) else text

    def _repeat(self, item: Node, least: int, most: int | None) -> str:
        text = self._text(item)
        is_atom = isinstance(item, Chars | Name) or (isinstance(item, Text) and len(item.text) == 1)
        atom = text if is_atom else f"({text})"
        if (least, most) in SIGNS:
            return atom + SIGNS[least, most]
        rest = f"{atom}*" if most is None else ""
        for _ in range((most or least) - least):
            rest = f"({atom} {rest})?" if rest else f"{atom}?"
        return " ".join([*[atom] * least, *([rest] if rest else [])])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _char(char: str) -> str:
    """A character of a class; every sign by its code, since readers differ in what they escape."""
    return char if char.isascii() and char.isalnum() else f"\\x{ord(char):02x}"
