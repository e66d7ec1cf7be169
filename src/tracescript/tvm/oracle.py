"""A live schedule beside the mask: what TVM refuses is rolled back and masked out."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numpy.typing import NDArray

from tracescript.encode import HEADER
from tracescript.errors import IllegalToken, RefusedToken
from tracescript.masks.bitmask import Bitmask, bitmask, tokens_in, without
from tracescript.masks.masker import ScriptMasker
from tracescript.masks.outcomes import Counts
from tracescript.masks.positions import Position
from tracescript.masks.room import Case
from tracescript.masks.state import MaskState, Node
from tracescript.masks.tables import Table
from tracescript.tvm.hazards import RELEASE
from tracescript.tvm.lines import Lines
from tracescript.tvm.steps import Refusal

__all__ = ["Oracle", "OracleState"]


class Oracle:
    """Masks for the scripts of one module, with TVM's own verdict on every line.

    Law: a script whose tokens an `OracleState` has let through is applied to the module by
    `replay`, and gives `OracleState.schedule`.

    A line is applied when the token that ends it comes. So a mask holds every token of which TVM
    has not been asked, and loses those that it has refused.

    Args:
        masker: a masker of the release of TVM that is installed, with all its constraints.
        module: a `tvm.IRModule` or a `PrimFunc`.
        seed: for what is not decided, which masks never leave open.

    Raises:
        ValueError: the masker is of another release, or lets something pass that TVM dies of.
    """

    def __init__(self, masker: ScriptMasker, module: Any, *, seed: int = 1) -> None:
        given = masker.constraints
        if masker.tvm != RELEASE:
            raise ValueError(f"expected a masker for TVM {RELEASE}, found one for {masker.tvm}")
        if not (given.scope and given.counts and given.domains):
            raise ValueError("expected a masker that enforces scope, counts and domains")
        self._masker = masker
        self._first = Lines.of_module(module, seed)

    def new(self) -> OracleState:
        """The state at the beginning of a script."""
        return OracleState(self._masker, self._first)

    def sample(
        self,
        choose: Callable[[OracleState, NDArray[Any]], int],
        *,
        tokens: int = 512,
        tries: int = 4096,
    ) -> OracleState:
        """Write a script, token by token, and give its state.

        Args:
            choose: takes the state and the tokens that may come next, and picks one of these; a
                model, or chance.
            tokens: how many tokens the script may have, `<eos>` included.
            tries: how often `choose` is asked for; then the script ends with its last whole line.
        """
        state = self.new()
        for _ in range(tries):
            if state.is_finished():
                break
            allowed = state.allowed_tokens(left=tokens - len(state.tokens))
            if len(allowed):
                state.try_advance([choose(state, allowed)])
            else:
                state.retreat()
        if not state.is_accepting():
            state.retreat()
        # That is `<eos>`, or the header before it; or nothing.
        for token in state.completion():
            state.advance(token)
        return state


class _LiveNode(Node):
    """A node that knows the live schedule.

    Attributes:
        before: the node without the last token.
        lines: what the finished lines have made of the module.
        start: the last node, this one or before it, at which a line begins.
        since: the text since then, in Latin-1.
        refused: the tokens that TVM has refused here, and why.
        dead: where a line begins, the texts from here on that TVM has refused, and why.
    """

    __slots__ = ("before", "dead", "lines", "refused", "since", "start")

    def __init__(
        self, position: Position | None, counts: Counts, parent: _LiveNode | None, token: int
    ) -> None:
        super().__init__(position, counts, parent, token)
        self.before = parent
        self.lines: Lines | None = None if parent is None else parent.lines
        self.start: _LiveNode = self if parent is None else parent.start
        self.since = ""
        self.refused: dict[int, str] = {}
        self.dead: dict[str, str] = {}


def _live(node: Node) -> _LiveNode:
    # An oracle makes no others.
    return cast("_LiveNode", node)


class OracleState(MaskState):
    """One sequence of tokens, and which may come next, asked of a live schedule too.

    `Oracle.new` makes one. As with a `MaskState` a refused token leaves the state as it is, but it
    may be that none is left: TVM refuses the line, however it goes on. Then `retreat` leads
    back to the beginning of the line, where the script can end or go on otherwise. So a bound
    (`left`) is kept nearly, by some tokens; at the end of them `retreat` and `<eos>` do it.
    """

    __slots__ = ()

    def __init__(self, masker: ScriptMasker, first: Lines) -> None:
        super().__init__(masker, masker.room(tracked=True), None)
        node = self._live
        node.lines = first
        node.scope = first.scope, ""

    @property
    def schedule(self) -> Any:
        """The `tvm.s_tir.Schedule` after the finished lines. It goes on: change a copy."""
        return self._lines_of(self._live).schedule

    @property
    def refused(self) -> dict[int, str]:
        """The tokens that TVM has refused here, and its reasons."""
        return dict(self._live.refused)

    def retreat(self) -> int:
        """Go back to where the line began; how many tokens that takes back.

        At the beginning of a line it goes back to that of the line before.
        """
        node = self._live
        if node.start is node and node.before is not None:
            node = node.before
        before = len(self.tokens)
        self._node = node.start
        return before - len(self.tokens)

    # What differs from a mask alone.

    @property
    def _live(self) -> _LiveNode:
        return _live(self._node)

    def _lines_of(self, node: _LiveNode) -> Lines:
        assert node.lines is not None
        return node.lines

    def _new_node(
        self, position: Position | None, counts: Counts, parent: Node | None, token: int
    ) -> Node:
        return _LiveNode(position, counts, cast("_LiveNode | None", parent), token)

    def _case_at(self, node: Node) -> Case | None:
        lines = _live(node).lines
        return None if lines is None else self._case_of(lines.workload.names)

    def _settled(self, node: Node) -> Node | None:
        """Apply the lines that the token has ended; None if TVM refuses one of them."""
        live, parent = _live(node), _live(node).before
        text = self._masker.texts[live.token]
        assert parent is not None
        live.since = parent.since + text
        *ended, rest = (parent.since.rpartition("\n")[2] + text).split("\n")
        if ended:
            try:
                live.lines = self._applied(live, ended, rest)
            except Refusal as refusal:
                parent.refused[live.token] = str(refusal)
                return None
            live.scope = live.lines.scope, rest
        if ended and not rest:
            live.start, live.since = live, ""
        return super()._settled(live)

    def _applied(self, live: _LiveNode, ended: list[str], rest: str) -> Lines:
        lines, dead = self._lines_of(live), live.start.dead
        end = len(live.since) - len(rest) - sum(len(line) + 1 for line in ended)
        for line in ended:
            end += len(line) + 1
            whole = live.since[:end]
            if whole in dead:
                raise Refusal(dead[whole])
            try:
                lines = lines.after(line.encode("latin-1").decode()) if whole != HEADER else lines
            except Refusal as refusal:
                dead[whole] = str(refusal)
                raise
        return lines

    def _mask(self, left: int | None) -> Bitmask:
        mask = super()._mask(left)
        live = self._live
        refused = set(live.refused)
        lacking = [
            text[len(live.since) :] for text in live.start.dead if text.startswith(live.since)
        ]
        if lacking:
            texts = self._masker.texts
            refused |= {t for t in tokens_in(mask).tolist() if texts[t].startswith(tuple(lacking))}
        return without(mask, bitmask(sorted(refused), len(self._masker.texts)) if refused else None)

    def _within(self, left: int, table: Table) -> Bitmask:
        # What each token leaves to come TVM would have to be asked; too much for a mask.
        return self._nearly_within(max(left, self.remaining_min()) - 2, table)

    def _illegal(self, token: int) -> IllegalToken:
        error, reason = super()._illegal(token), self._live.refused.get(token)
        if reason is None:
            return error
        return RefusedToken(error.token, error.found, error.place, error.line, reason)
