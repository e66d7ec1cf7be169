"""The strict grammar over token ids, for models that know nothing but our tokens.

A text can be cut into tokens in many ways, and a grammar of texts lets all of them through. A
model that was trained on `Tokenizer.encode` has seen one. Here a word is one token where it has
one, else it is spelled by bytes; so of all that stands outside of strings there is one way.

Laws: the text of a sequence that the grammar takes fits the strict grammar; the sequence that
`encode` gives for a script is taken if the script fits.
"""

from __future__ import annotations

from tracescript._grammar import grammar_text
from tracescript.errors import TokenizerError
from tracescript.exports.automaton import automaton_of
from tracescript.exports.lark_text import read_grammar
from tracescript.exports.nodes import SIGNS, Choice, Name, Node, Repeat, Sequence, Text
from tracescript.exports.token_rules import automaton_rules, disjoint, grouped, id_set
from tracescript.tokens import VOCABULARY_VERSION, Tokenizer
from tracescript.tokens.pattern import WORD

__all__ = ["token_grammar"]

_HEAD = """\
// TraceScript, format 1, as TVM {tvm} writes it, over the {size} token ids of version {version}
// of the vocabulary. `<[3,5-7]>` is one token of four. Rules that begin with "blank" take the
// blank in front along, as tokens do.

"""


def token_grammar(tokenizer: Tokenizer, tvm: str = "0.27") -> str:
    r"""The strict grammar of a release over token ids, in Lark's form.

    llguidance and xgrammar read it; `<eos>` may come where a script may end. Strings, apart
    from those that are one token, may be cut in any way.

    Args:
        tokenizer: a tokenizer of the symbol level; the tokens of phrases are no words.
        tvm: a release of TVM.

    Raises:
        TokenizerError: the tokenizer has phrases.
        ValueError: there is no strict grammar for the release.

    >>> grammar = token_grammar(Tokenizer.default("symbol"))
    >>> print(*[line for line in grammar.split("\n") if line[:9] == "get_loops"])
    get_loops: <[279]> blank_word_block (<[315]> blank_word_loops)?
    """
    if tokenizer.level != "symbol":
        raise TokenizerError("tokenizer", "one of the symbol level", repr(tokenizer))
    return _Writer(tokenizer, grammar_text(tvm=tvm)).text(tvm)


class _Writer:
    """Goes through the rules in reach; a rule is written anew for where a blank comes first."""

    def __init__(self, tokenizer: Tokenizer, grammar: str) -> None:
        self._tokenizer = tokenizer
        tokens = {token: tokenizer.token_bytes(token) for token in range(tokenizer.vocab_size)}
        self._tokens = {token: data for token, data in tokens.items() if data}
        self._bytes = {token: data for token, data in self._tokens.items() if len(data) == 1}
        (self._blank,) = tokenizer.encode(" ")
        self._grammar = read_grammar(grammar)
        self._rules: dict[str, str] = {}

    def text(self, tvm: str) -> str:
        self._rule("start", blank=False)
        head = _HEAD.format(tvm=tvm, size=len(self._tokens), version=VOCABULARY_VERSION)
        rules = disjoint(self._rules)
        return head + "".join([f"{name}: {body}\n" for name, body in rules.items()])

    def _rule(self, name: str, *, blank: bool) -> str:
        """Write a rule, unless it is written already; its new name."""
        node = self._grammar[name]
        new = ("blank_" if blank else "") + ("word_" if name.isupper() else "") + name.lower()
        if new not in self._rules:
            self._rules[new] = ""
            if name.isupper():
                self._terminal(new, Sequence((Text(" "), node)) if blank else node)
            else:
                self._rules[new] = self._whole(node, blank)
        return new

    def _terminal(self, name: str, node: Node) -> None:
        automaton = automaton_of(node)
        if not all(_WORD_BYTES.issuperset(way) for way in automaton.ways):
            self._rules |= automaton_rules(name, automaton, self._tokens)
            return
        # A word is the token that it is, or else bytes: no token begins within a word.
        ids = [token for token, data in self._tokens.items() if automaton.takes(data)]
        ways = [id_set(ids)] if ids else []
        others = automaton.without([self._tokens[token] for token in ids])
        if others.ends:
            self._rules |= automaton_rules(f"{name}_spelled", others, self._bytes)
            ways.append(f"{name}_spelled")
        self._rules[name] = " | ".join(ways)

    def _whole(self, node: Node, blank: bool) -> str:
        text, pending = self._part(node, blank)
        if pending:
            raise ValueError(f"grammar: expected a word after each blank, found {node}")
        return text

    def _part(self, node: Node, blank: bool) -> tuple[str, bool]:
        """What to write for a part that a blank may precede, and whether one follows."""
        match node:
            case Text(text):
                return self._literal(text, blank)
            case Name(name):
                named = self._grammar[name]
                if isinstance(named, Text):
                    return self._literal(named.text, blank)
                return self._rule(name, blank=blank), False
            case Sequence(items):
                parts: list[str] = []
                for item in items:
                    part, blank = self._part(item, blank)
                    parts.append(f"({part})" if isinstance(item, Choice) else part)
                return " ".join(filter(None, parts)), blank
            case Choice(items):
                return " | ".join([self._whole(item, blank) for item in items]), False
            case Repeat(item, least, most) if not blank:
                return grouped(self._whole(item, blank)) + SIGNS[least, most], False
            case _:
                raise ValueError(f"grammar: expected a word, found {node}")

    def _literal(self, text: str, blank: bool) -> tuple[str, bool]:
        """The tokens of a text; a blank at its end is left to what follows."""
        ids = self._tokenizer.encode(" " * blank + text)
        pending = ids[-1] == self._blank
        return " ".join([id_set([token]) for token in (ids[:-1] if pending else ids)]), pending


_WORD_BYTES = frozenset(map(ord, WORD | {" "}))
