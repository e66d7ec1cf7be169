"""What all sequences share: positions, tables, and what a task makes of a table."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property, lru_cache

from tracescript.instructions import LoopEffect
from tracescript.masks.bitmask import Bitmask, bitmask, union, without
from tracescript.masks.factors import Brackets, Factors
from tracescript.masks.goals import Goal, Thread
from tracescript.masks.lexemes import run_of
from tracescript.masks.line import Arrow
from tracescript.masks.outcomes import Demand, Outcome, Walker
from tracescript.masks.positions import Machine, Position
from tracescript.masks.reading import first_distance
from tracescript.masks.scope import Scope
from tracescript.masks.strings import rest_of_string
from tracescript.masks.tables import Table, Tree
from tracescript.masks.task import Names
from tracescript.masks.values import Text
from tracescript.tokens import Tokenizer

__all__ = ["Room"]

_TASKS = 256
"""Tasks whose tables are kept."""

_POSITIONS = 100_000
"""Positions that are kept; texts and long lists can bring any number of them."""

_TABLES = 4_000
"""Tables that are kept: a few hundred that usual scripts need, and those of extents."""

_MASKS = 1_024
"""Masks of a table, by what a task says, that are kept."""


class Room:
    """The tables of one machine, made when they are first needed.

    Attributes:
        machine: the steps between positions.
        vocab_size: how many tokens there are.
    """

    def __init__(self, machine: Machine, tokenizer: Tokenizer, tree: Tree) -> None:
        self.machine = machine
        self.vocab_size = tokenizer.vocab_size
        self.case = lru_cache(maxsize=_TASKS)(self._case)
        self._tokenizer = tokenizer
        self._tree = tree
        self._shelf = self.shelf(None)

    def table(self, position: Position) -> Table:
        """The table of a position."""
        self._make_room()
        return self._shelf.table(position)

    def outcome(self, position: Position, token: int) -> Outcome | None:
        """Where a token leads; None if it cannot stand there."""
        self._make_room()
        return self._shelf.outcome(position, token)

    def _make_room(self) -> None:
        """Forget everything if it is too much; all of it can be made again."""
        if self.machine.size > _POSITIONS or self._shelf.size > _TABLES:
            self.machine.forget()
            self.case.cache_clear()
            self._shelf = self.shelf(None)

    def shelf(self, names: Names | None) -> _Shelf:
        """Tables that have only these names, if some are given."""
        return _Shelf(Walker(self.machine, names), self._tokenizer, self._tree)

    def _case(self, names: Names, keeps_names: bool, extents: bool) -> Case:
        return Case(self, names, keeps_names=keeps_names, extents=extents)


class _Shelf:
    """Tables, and outcomes of single tokens where nobody has asked for the table yet."""

    def __init__(self, walker: Walker, tokenizer: Tokenizer, tree: Tree) -> None:
        self._walker = walker
        self._tokenizer = tokenizer
        self._tree = tree
        self._tables: dict[Position, Table] = {}
        self._outcomes: dict[Position, dict[int, Outcome | None]] = defaultdict(dict)

    @property
    def size(self) -> int:
        return len(self._tables)

    def table(self, position: Position) -> Table:
        table = self._tables.get(position)
        if table is None:
            table = Table(self._walker, position, self._tree, self._tokenizer.vocab_size)
            self._tables[position] = table
            self._outcomes.pop(position, None)
        return table

    def outcome(self, position: Position, token: int) -> Outcome | None:
        table = self._tables.get(position)
        if table is not None:
            return table.outcomes.get(token)
        outcomes = self._outcomes[position]
        if token not in outcomes:
            exists = 0 <= token < self._tokenizer.vocab_size
            parts = self._tokenizer.parts(token) if exists else ()
            outcomes[token] = self._walker.token(position, parts) if exists else None
        return outcomes[token]


class Case:
    """What is known of the blocks of a workload, in a room.

    Attributes:
        names: the names that blocks and functions can have.
        extents: whether extents and numbers of loops are enforced.
    """

    def __init__(self, room: Room, names: Names, *, keeps_names: bool, extents: bool) -> None:
        self.names = names
        self.extents = extents
        self._keeps_names = keeps_names
        self._room = room
        self._shelf = room.shelf(names)
        self._verdicts: dict[Table, _Verdict] = {}
        self._additions: dict[Table, Bitmask] = {}

    def table(self, position: Position) -> Table:
        """The table of a position for these names."""
        return (self._room if position.name is None else self._shelf).table(position)

    def outcome(self, position: Position, token: int) -> Outcome | None:
        """Where a token leads; None if it cannot stand there."""
        return (self._room if position.name is None else self._shelf).outcome(position, token)

    def resolve(self, position: Position, scope: Scope, line: str) -> frozenset[Thread]:
        """The threads of a position with what the task and the lines so far say.

        A tile gets the extent of its loop. A name that goes on after a known one is any text:
        nothing is known of its block.
        """
        extent: int | None = None
        if self.extents and position.name is None:
            extent = scope.extent(first_distance(line))
        rules = self._room.machine.rules
        threads: set[Thread] = set()
        for *below, goal in position.threads:
            if isinstance(goal, Factors) and goal.pending:
                threads.add((*below, goal.of(extent, rules)))
            elif isinstance(goal, Text) and self._is_free(position, goal.raw):
                threads.add((*below, Text(goal.line, "free", goal.state)))
            else:
                threads.add((*below, goal))
        return frozenset(threads)

    def _is_free(self, position: Position, raw: str) -> bool:
        return not self._keeps_names or self.names.of(position.names).goes_on(raw)

    def restrict(self, table: Table, mask: Bitmask, scope: Scope) -> Bitmask:
        """A mask without the tokens that take something for granted that is not so."""
        verdict = self._verdicts.get(table)
        if verdict is None:
            verdict = self._verdicts[table] = _Verdict(table, self)
        return verdict.restrict(mask, scope)

    def adds_to(self, table: Table) -> Bitmask:
        """The tokens of a table after which a line may take more than the position alone tells."""
        mask = self._additions.get(table)
        if mask is None:
            outcomes = table.outcomes.items()
            tokens = [token for token, outcome in outcomes if self._adds(outcome.position)]
            mask = self._additions[table] = bitmask(tokens, self._room.vocab_size)
        return mask

    def _adds(self, position: Position) -> bool:
        """Whether `more_symbols` may be other than 0, or the task changes the position."""
        return (
            position.asks
            or position.line.block != 0
            or _begins_factors(position)
            or self._loops(position) in ("looks up", "finds")
        )

    def _loops(self, position: Position) -> LoopEffect | None:
        """What the kind of the line has to do with loops, None at the beginning of a line."""
        kind = self._room.machine.rules.kinds.get(position.line.kind)
        return None if kind is None else kind.loops

    def allows(self, demand: Demand, scope: Scope) -> bool:
        """Whether what a token takes for granted is so."""
        if demand.loops is None:
            return not self._keeps_names or self._is_name(demand)
        return not self.extents or self._is_count(demand, scope)

    def more_symbols(self, position: Position, scope: Scope, line: str) -> int:
        """How many more symbols a line takes than its position alone tells."""
        if self._loops(position) == "finds":
            return self._more_for_names(position)
        if not self.extents:
            return 0
        if _begins_factors(position):
            return self._more_for_factors(position, scope.extent(first_distance(line)))
        if position.line.block:
            known = scope.loop_count(position.line.block)
            return self._more_for_loops(position, known)
        # Which block it will be is open.
        if self._loops(position) == "looks up":
            return self._more_for_run(scope.most_loops)
        return 0

    def _more_for_names(self, position: Position) -> int:
        if not self._keeps_names or position.line.function is not None:
            return 0
        rest = 0
        if position.name is not None:
            # What the string itself lacks, such as half of a character, counts already.
            rest = self.names.of(position.names).rest(position.name) - _lacking(position)
            if position.names == "function":
                return rest
        return rest + self._more_for_function

    @cached_property
    def longest_names(self) -> int:
        """How many bytes the longest names that are known take, of a block and of a function."""
        return self.names.block.longest + self.names.function.longest

    @cached_property
    def _more_for_function(self) -> int:
        """How many more symbols the shortest name of a function takes than an empty one."""
        symbols, names = self._room.machine.rules.symbols, self.names.function
        return min(-1 if f' "{name}"' in symbols else len(name) for name in names.known or {""})

    def _more_for_factors(self, position: Position, extent: int | None) -> int:
        rules = self._room.machine.rules
        return max(
            ways[0][0].symbols - others[0][0].symbols
            for goal in _goals(position)
            if isinstance(goal, Brackets)
            for ways in [rules.ways(goal.factors(rules).of(extent, rules))]
            for others in [rules.ways(goal.factors(rules))]
        )

    def _more_for_loops(self, position: Position, known: int | None) -> int:
        if position.spelled:
            return (
                0
                if known is None
                else len(run_of("l", known)) - len(position.spelled) + 1 - position.needs[0].symbols
            )
        more = 0 if known is None else self._more_for_run(known)
        is_before_arrow = any(isinstance(goal, Arrow) for goal in _goals(position))
        return more - 2 if is_before_arrow and not known else more

    def _more_for_run(self, count: int) -> int:
        return self._room.machine.rules.cost(run_of("l", count)) - 1 if count > 1 else 0

    def _is_name(self, demand: Demand) -> bool:
        assert demand.name is not None
        names = self.names.of(demand.of)
        return names.have(demand.name) if demand.whole else names.begins(demand.name)

    def _is_count(self, demand: Demand, scope: Scope) -> bool:
        known = scope.loop_count(_block(demand))
        if known is None:
            return True
        if demand.loops == "some":
            return known > 0
        if isinstance(demand.loops, int):
            return known == demand.loops
        # A number that is spelled out, so far.
        return known > 0 and self._room.machine.is_spelled(run_of("l", known), demand.loops or "")


def _goals(position: Position) -> list[Goal]:
    """What may come next at a position, or at the one where the word that is spelled began."""
    return [goal for *_, goal in (position.origin or position).threads]


def _lacking(position: Position) -> int:
    """How many bytes a string lacks before its quote, whatever is to be in it."""
    return next(
        len(rest_of_string(goal.state)) - 1 for goal in _goals(position) if isinstance(goal, Text)
    )


def _begins_factors(position: Position) -> bool:
    return any(isinstance(goal, Brackets) for goal in _goals(position))


def _block(demand: Demand) -> int | str:
    """The block whose loops are meant, by its name or by how far back it is."""
    return demand.block if demand.name is None else demand.name


class _Verdict:
    """What a task says about the tokens of a table, by what can change during a sequence."""

    def __init__(self, table: Table, case: Case) -> None:
        self._case = case
        self._table = table
        names = [d for d in table.demands if d.loops is None]
        # What names no block is refused for its name.
        self._counts = [
            d
            for d in table.demands
            if d.loops is not None and (d.name is None or case.names.block.have(d.name))
        ]
        self._blocks = list(dict.fromkeys(map(_block, self._counts)))
        self._names = self._refused(names, Scope())
        self._masks: dict[tuple[object, ...], Bitmask | None] = {}

    def restrict(self, mask: Bitmask, scope: Scope) -> Bitmask:
        """A mask without the tokens that take something for granted that is not so."""
        mask = without(mask, self._names)
        if not self._counts or not self._case.extents:
            return mask
        # Tokens that reach further back are not in the mask anyway.
        most = len(scope.blocks)
        key = tuple([scope.loop_count(block) for block in self._blocks if _within(block, most)])
        if key not in self._masks:
            counts = [demand for demand in self._counts if demand.block <= most]
            if len(self._masks) >= _MASKS:
                self._masks.clear()
            self._masks[key] = self._refused(counts, scope)
        return without(mask, self._masks[key])

    def _refused(self, demands: list[Demand], scope: Scope) -> Bitmask | None:
        refused = [demand for demand in demands if not self._case.allows(demand, scope)]
        return union([self._table.demands[demand] for demand in refused])


def _within(block: int | str, most: int) -> bool:
    return isinstance(block, str) or block <= most
