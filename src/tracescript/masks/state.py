"""`MaskState`: one sequence, and which tokens may come next in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracescript.encode import HEADER
from tracescript.errors import IllegalToken
from tracescript.masks.bitmask import Bitmask, bitmask, tokens_in
from tracescript.masks.outcomes import Counts
from tracescript.masks.positions import Position
from tracescript.masks.reading import defines
from tracescript.masks.room import Case, Room
from tracescript.masks.scope import CHANGES, Scope
from tracescript.masks.tables import Table
from tracescript.masks.task import Names, TaskInfo

if TYPE_CHECKING:
    from typing_extensions import Self

    from tracescript.masks.masker import ScriptMasker

__all__ = ["MaskState", "Node"]

_FAR = 64
"""More symbols than a task adds to a line beyond a name: one factor of a tile, or the number of
loops, has digits instead of being a symbol, and an extent that is followed has at most ten."""

_NEARER = 2
"""How many symbols less a line can take with a task than without: loops that are not there."""

_UNBOUNDED = 1 << 30
"""More values than any script has: what counts as in scope when scope is not enforced."""


class Node:
    """A sequence of tokens: the last one, and the node of those before. It never changes.

    Attributes:
        position: the place in the script; None after the end.
        counts: how many blocks, loops and expressions are in scope.
        parent: the node without the last token.
        token: the last token.
        scope: what is known of the values in scope, once somebody has asked.
    """

    __slots__ = ("counts", "parent", "position", "scope", "token")

    def __init__(
        self, position: Position | None, counts: Counts, parent: Node | None, token: int
    ) -> None:
        self.position = position
        self.counts = counts
        self.parent = parent
        self.token = token
        self.scope: tuple[Scope, str] | None = None


class MaskState:
    """One sequence of tokens, and which may come next.

    `ScriptMasker.new` makes one. Laws:

    - there is always a token that may come next;
    - from every state the script can be finished with `remaining_min` tokens;
    - a token that is refused leaves the state as it is.
    """

    __slots__ = ("_case", "_masker", "_node", "_room")

    def __init__(self, masker: ScriptMasker, room: Room, task: TaskInfo | None) -> None:
        self._masker = masker
        self._room = room
        self._case: Case | None = None if task is None else self._case_of(task.names)
        start = 0 if masker.constraints.scope else _UNBOUNDED
        self._node = self._new_node(room.machine.start, (start, start, start), None, -1)
        self._node.scope = Scope(workload=task or TaskInfo(())), ""

    # What may come next.

    def fill_bitmask(
        self, out: NDArray[np.int32], row: int = 0, *, left: int | None = None
    ) -> None:
        """Write the mask of the next token into a row of an array.

        Args:
            out: an array of 32-bit integers, one row a sequence, in the layout of llguidance and
                xgrammar: bit `i % 32` of word `i // 32` is token i. A longer row, for a padded
                vocabulary, is filled up with zeros.
            row: the row.
            left: if given, how many tokens the script may still take, `<eos>` included; only
                tokens come that leave a way to finish with them. Where they are fewer than
                `remaining_min()`, that many count as left.

        Raises:
            ValueError: the row is too short for the vocabulary.
        """
        mask = self._mask(left)
        line = out[row]
        if len(line) < len(mask):
            raise ValueError(f"expected rows of at least {len(mask)} words, found {len(line)}")
        line[: len(mask)] = mask
        if len(line) > len(mask):
            line[len(mask) :] = 0

    def allowed_tokens(self, *, left: int | None = None) -> NDArray[np.int32]:
        """The ids that may come next, in ascending order; after the end only `<eos>`.

        Args:
            left: as in `fill_bitmask`.
        """
        return tokens_in(self._mask(left))

    def forced(self) -> list[int]:
        """The tokens that must come next, up to the next choice or the end."""
        ahead, tokens = self.fork(), list[int]()
        while not ahead.is_finished():
            allowed = ahead.allowed_tokens()
            if len(allowed) != 1 or not ahead.try_advance(allowed.tolist()):
                break
            tokens += allowed.tolist()
        return tokens

    def completion(self) -> list[int]:
        """Tokens that finish the script, at most `remaining_min()`, `<eos>` included."""
        ahead = self.fork()
        while not ahead.is_finished():
            ahead.advance(ahead._nearer())
        return ahead.tokens[len(self.tokens) :]

    def is_accepting(self) -> bool:
        """Whether the script may end here."""
        position = self._node.position
        return position is None or position.begins_line

    def is_finished(self) -> bool:
        """Whether the script has ended: `<eos>` was the last token."""
        return self._node.position is None

    def remaining_min(self) -> int:
        """How many tokens suffice to finish the script, `<eos>` included; 0 after the end.

        Symbols cannot do it with fewer, unless it is open which block of a task comes next;
        phrases may.
        """
        position = self._node.position
        if position is None:
            return 0
        b, l, v = self._node.counts  # noqa: E741 (the letters of the references)
        least = min(
            need.symbols for need in position.needs if need.b <= b and need.l <= l and need.v <= v
        )
        case = self._case_at(self._node)
        if case is not None:
            scope = self._scope_here(self._node)
            least += case.more_symbols(position, scope, self._scope()[1])
        return 1 + least

    @property
    def scope(self) -> Scope:
        """What the finished lines have defined, as far as the task tells what it is."""
        return self._scope()[0]

    @property
    def tokens(self) -> list[int]:
        """The tokens so far."""
        return [node.token for node in self._path()]

    # Going on.

    def advance(self, token: int) -> None:
        """Take a token.

        Raises:
            IllegalToken: it may not come next, or there is no such token. The state is as before.
        """
        node = self._after(self._node, token)
        if node is None:
            raise self._illegal(token)
        self._node = node

    def try_advance(self, tokens: Iterable[int]) -> int:
        """Take tokens up to the first that may not come; the number of those taken."""
        count = 0
        for token in tokens:
            node = self._after(self._node, token)
            if node is None:
                break
            self._node = node
            count += 1
        return count

    def validate(self, tokens: Iterable[int]) -> int:
        """How many of the tokens `try_advance` would take. The state stays as it is."""
        return self.fork().try_advance(tokens)

    def rollback(self, count: int = 1) -> None:
        """Take back the last tokens.

        Raises:
            ValueError: there are not that many.
        """
        node = self._node
        for _ in range(count):
            if node.parent is None:
                raise ValueError(f"cannot take back {count} tokens of {len(self.tokens)}")
            node = node.parent
        self._node = node

    def reset(self) -> None:
        """Take back all tokens."""
        self.rollback(len(self.tokens))

    def fork(self) -> Self:
        """A second state that goes on from here by itself."""
        return copy(self)

    # Inside.

    def _case_at(self, _node: Node) -> Case | None:
        """What is known of the workload at a place, None if there is nothing to be known."""
        return self._case

    def _case_of(self, names: Names) -> Case:
        given = self._masker.constraints
        if given.own:
            names = names._replace(block=names.block.in_full)
        return self._room.case(names, given.names, given.extents)

    def _new_node(
        self, position: Position | None, counts: Counts, parent: Node | None, token: int
    ) -> Node:
        return Node(position, counts, parent, token)

    def _table(self, node: Node, position: Position) -> Table:
        return (self._case_at(node) or self._room).table(position)

    def _mask(self, left: int | None) -> Bitmask:
        node = self._node
        position = node.position
        if position is None:
            return self._masker.final
        table = self._table(node, position)
        if left is None or left > table.longest + self._far():
            mask = self._possible(table.mask(node.counts), table)
        else:
            mask = self._within(left, table)
        return mask | self._masker.final if position.begins_line else mask

    def _far(self) -> int:
        """More symbols than a task can add to a line."""
        case = self._case_at(self._node)
        return _FAR if case is None else _FAR + case.longest_names

    def _possible(self, mask: Bitmask, table: Table) -> Bitmask:
        """A mask without what a task refuses."""
        case = self._case_at(self._node)
        if case is None or not table.demands:
            return mask
        return case.restrict(table, mask, self._scope_here(self._node))

    def _within(self, left: int, table: Table) -> Bitmask:
        """The tokens after which the script can be finished with those that are left."""
        left = max(left, self.remaining_min())
        # One token comes now, and `<eos>` at the end.
        symbols = left - 2
        within = table.mask_within(self._node.counts, symbols)
        case = self._case_at(self._node)
        if case is None:
            return within
        near, more = self._nearly_within(symbols, table), case.adds_to(table)
        tokens = tokens_in(near & more).tolist()
        kept = [token for token in tokens if self._leaves(token) < left]
        return near & within & ~more | bitmask(kept, self._masker.tokenizer.vocab_size)

    def _nearly_within(self, symbols: int, table: Table) -> Bitmask:
        """At least the tokens after which the script can be finished with so many symbols."""
        near = table.mask_within(self._node.counts, symbols + _NEARER)
        return self._possible(near, table)

    def _leaves(self, token: int) -> int:
        """How many tokens suffice after this one."""
        ahead = self.fork()
        ahead.advance(token)
        return ahead.remaining_min()

    def _after(self, node: Node, token: int) -> Node | None:
        position = node.position
        if token == self._masker.tokenizer.eos_id:
            ends = position is None or position.begins_line
            return self._new_node(None, node.counts, node, token) if ends else None
        if position is None:
            return None
        case = self._case_at(node)
        outcome = (case or self._room).outcome(position, token)
        if outcome is None:
            return None
        b, l, v = node.counts  # noqa: E741 (the letters of the references)
        for (need_b, need_l, need_v), _ in outcome.ways:
            if need_b <= b and need_l <= l and need_v <= v:
                break
        else:
            return None
        if case is not None and outcome.demands:
            scope = self._scope_here(node)
            if not all(case.allows(demand, scope) for demand in outcome.demands):
                return None
        more_b, more_l, more_v = outcome.defined
        counts = (b + more_b, l + more_l, v + more_v)
        return self._settled(self._new_node(outcome.position, counts, node, token))

    def _nearer(self) -> int:
        """A token that brings the end one token nearer."""
        position, left = self._node.position, self.remaining_min()
        if position is None or self.is_accepting():
            return self._masker.tokenizer.eos_id
        outcomes = self._table(self._node, position).outcomes
        promising = sorted(outcomes, key=lambda token: outcomes[token].position.needs[0].symbols)
        for token in promising:
            if self.validate([token]) and self._leaves(token) < left:
                return token
        raise self._illegal(promising[0])

    def _settled(self, node: Node) -> Node | None:
        """Tell the position what the task says: the extent of a loop, the end of known names."""
        position, case = node.position, self._case_at(node)
        if case is None or position is None or not position.asks:
            return node
        scope, text = self._scope_of(node)
        known = case.resolve(position, scope, text)
        if known != position.threads:
            node.position = self._room.machine.replace(known)
        return node

    def _scope(self) -> tuple[Scope, str]:
        return self._scope_of(self._node)

    def _scope_of(self, node: Node) -> tuple[Scope, str]:
        """The scope of the finished lines, and the text of the line that is not finished."""
        path: list[Node] = []
        while node.scope is None:
            assert node.parent is not None
            path.append(node)
            node = node.parent
        scope, text = node.scope
        for later in reversed(path):
            text += self._masker.texts[later.token]
            *lines, text = text.split("\n")
            for line in lines:
                scope = self._scope_after(scope, line)
            later.scope = (scope, text)
        return scope, text

    def _scope_here(self, node: Node) -> Scope:
        """The scope as it will be on the next line, as far as the line so far tells."""
        scope, text = self._scope_of(node)
        assert node.position is not None
        if node.position.may_end_line and defines(text):
            return self._scope_after(scope, text)
        kind = self._room.machine.rules.kinds.get(text.partition(" ")[0])
        if kind is None or kind.loops not in CHANGES:
            return scope
        return scope.unsettled()

    def _scope_after(self, scope: Scope, line: str) -> Scope:
        if line + "\n" == HEADER:
            return scope
        return scope.after(line.encode("latin-1").decode())

    def _path(self) -> Iterator[Node]:
        path: list[Node] = []
        node = self._node
        while node.parent is not None:
            path.append(node)
            node = node.parent
        return reversed(path)

    def _illegal(self, token: int) -> IllegalToken:
        tokens, texts = self.tokens, self._masker.texts
        line = "".join(texts[token] for token in tokens).rpartition("\n")[2]
        exists = 0 <= token < len(texts)
        found = f"there are {len(texts)} tokens"
        if exists:
            found = repr(texts[token]) if texts[token] else "a special token"
        return IllegalToken(token, found, len(tokens), line)
