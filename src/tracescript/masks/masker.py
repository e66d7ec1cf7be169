"""`ScriptMasker`: the masks of one tokenizer and one release, for any number of sequences."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import msgspec

from tracescript.instructions import kinds
from tracescript.masks.bitmask import bitmask
from tracescript.masks.goals import Rules
from tracescript.masks.lexemes import lexeme
from tracescript.masks.positions import Machine
from tracescript.masks.room import Room
from tracescript.masks.state import MaskState
from tracescript.masks.tables import Tree
from tracescript.masks.task import TaskInfo
from tracescript.tokens import Tokenizer

__all__ = ["Constraints", "ScriptMasker"]


class Constraints(msgspec.Struct, frozen=True, kw_only=True):
    """What is enforced beyond the grammar of a release; each can be switched off.

    Attributes:
        scope: a reference reaches back to a value that is defined.
        counts: outputs, probabilities and factors are as many as they have to be.
        domains: a decision is one that the attributes allow.
        extents: the factors of a tile multiply to the extent of the loop, and `GetLoops` gives
            as many loops as the block has, where a task says so.
        names: blocks that are looked up exist, and so do functions, where a task says so.
        own: likewise, the blocks are the workload's own. Without it, names such as `C_local` will
            do, which primitives may have made; MetaSchedule's traces look up none of them.
    """

    scope: bool = True
    counts: bool = True
    domains: bool = True
    extents: bool = True
    names: bool = True
    own: bool = False


ALL = Constraints()


class ScriptMasker:
    """The masks of one tokenizer and one release of TVM; sequences share it.

    Law: a script whose tokens `MaskState` has let through can be read by `loads`, and `check`
    finds no error in it. Every trace that the release has recorded is let through, unless `own`
    is asked for.

    Args:
        tokenizer: the tokenizer, of either level.
        tvm: the release whose instructions are let through; None is all of them.
        constraints: what is enforced beyond the grammar.

    Raises:
        ValueError: there is no such release in the table.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        tvm: str | None = "0.27",
        constraints: Constraints = ALL,
    ) -> None:
        self.tokenizer = tokenizer
        self.tvm = tvm
        self.constraints = constraints
        self._kinds = kinds(tvm)
        symbols = Tokenizer.default("symbol")
        self._symbols = [symbols.token_bytes(number) for number in range(symbols.vocab_size)]
        self._tree = Tree()
        for token in range(tokenizer.vocab_size):
            if tokenizer.token_bytes(token):
                self._tree.add(tokenizer.parts(token), token)
        self.texts = [
            tokenizer.token_bytes(token).decode("latin-1") for token in range(tokenizer.vocab_size)
        ]
        self._rooms: dict[bool, Room] = {}
        self.final = bitmask([tokenizer.eos_id], tokenizer.vocab_size)

    def __reduce__(self) -> tuple[object, ...]:
        # By what it is made of: its tables grow with use, and are made anew.
        made = partial(type(self), tvm=self.tvm, constraints=self.constraints)
        return made, (self.tokenizer,)

    def new(self, task: TaskInfo | None = None) -> MaskState:
        """The state at the beginning of a script, for a workload if one is given."""
        wanted = self.constraints.extents or self.constraints.names
        room = self.room(task is not None and wanted)
        return MaskState(self, room, task if wanted else None)

    def warm(self, scripts: Iterable[str], task: TaskInfo | None = None) -> None:
        """Make the tables that such scripts need, so that later masks take their usual time.

        A table is made when a position is first reached, which takes milliseconds. What does
        not fit the release is read up to there.

        Args:
            scripts: some scripts, for instance of the training data.
            task: a workload, for the positions of states that have one.
        """
        for script in scripts:
            state = self.new(task)
            for token in self.tokenizer.encode(script):
                state.allowed_tokens()
                if not state.try_advance([token]):
                    break

    @property
    def mask_words(self) -> int:
        """How many 32-bit words a mask has."""
        return len(self.final)

    def room(self, tracked: bool) -> Room:
        """The tables that states share: those that have a task to track, or those without."""
        room = self._rooms.get(tracked)
        if room is None:
            words = (data.decode() for data in self._symbols if data.isascii())
            symbols = frozenset(text for text in words if lexeme(text) is not None)
            given = self.constraints
            rules = Rules(
                self._kinds,
                symbols,
                counts=given.counts,
                domains=given.domains,
                tracked=tracked,
            )
            machine = Machine(self._symbols, rules)
            room = Room(machine, self.tokenizer, self._tree)
            self._rooms[tracked] = room
        return room
