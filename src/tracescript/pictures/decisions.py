"""What stands beside the script in a page: its decisions, or how those of two traces differ."""

from __future__ import annotations

from tracescript.dependencies import InstNode, Node
from tracescript.pictures.comparison import Comparison
from tracescript.pictures.counts import counted
from tracescript.pictures.keys import key_of
from tracescript.pictures.markup import decision_html, text_html
from tracescript.pictures.sides import Side, link
from tracescript.pictures.spans import Line, shorten

__all__ = ["decision_changes", "decision_groups"]


def decision_groups(side: Side) -> str:
    """The decisions of a trace, in independent groups."""
    groups, found = side.graph.independent_groups(), _decisions(side)
    lists: list[str] = []
    for group in groups:
        items = [_item(side, node, *found[node], _influence(side, node)) for node in group]
        lists.append(f"<li><ul>{''.join([f'<li>{item}</li>' for item in items])}</ul></li>\n")
    hint = f"{counted(len(found), 'decision')} in {counted(len(groups), 'independent group')}"
    return _section(hint, lists)


def decision_changes(left: Side, right: Side, comparison: Comparison) -> str:
    """The decisions in which two traces differ."""
    lefts, rights, peers = _decisions(left), _decisions(right), comparison.peers
    items: list[str] = []
    for node, (line, old) in lefts.items():
        new = rights[peers[node]][1] if node in peers else None
        if new != old:
            items.append(_item(left, node, line, old, _became(new)))
    same, known = len(lefts) - len(items), set(peers.values())
    for node, (line, new) in rights.items():
        if node not in known:
            items.append(_item(right, node, line, new, '<span class="note">is new</span>'))
    hint = f"{len(items):,} changed, {same:,} the same"
    return _section(hint, [f"<li>{item}</li>\n" for item in items])


def _section(hint: str, items: list[str]) -> str:
    head = f'<h2>Decisions</h2>\n<p class="hint">{hint}</p>'
    return head + (f'\n<ol class="groups">\n{"".join(items)}</ol>' if items else "")


def _decisions(side: Side) -> dict[Node, tuple[Line, str]]:
    """The decisions of a trace, each with its line and its text."""
    return {node: (line, text) for line in side.lines for node, text in line.decisions}


def _item(side: Side, node: Node, line: Line, text: str, note: str) -> str:
    """A link to a decision: its key, what is decided, how, and a note."""
    return (
        f"<a {link(side, node)}><b>{key_of(node)}</b><code>{text_html(line.subject())}</code>"
        f"<code>{decision_html(text)}</code>{note}</a>"
    )


def _influence(side: Side, node: Node) -> str:
    insts = sum([isinstance(each, InstNode) for each in side.graph.influences(node)])
    return f'<span class="note">influences {counted(insts, "instruction")}</span>'


def _became(new: str | None) -> str:
    if new is None:
        return '<span class="note">is gone</span>'
    return f'<code class="note">becomes <b>{text_html(shorten(new))}</b></code>'
