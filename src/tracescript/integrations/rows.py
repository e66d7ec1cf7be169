"""The masks of the rows of a batch, found by the tokens of each row alone; needs no engine.

Beam search reorders rows, and a server moves them: nothing here belongs to a place in a batch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracescript.masks import MaskState, ScriptMasker, TaskInfo

__all__ = ["Rows"]

_KEPT = 4
"""How many states a row are remembered: a step needs those of the step before."""

_REACH = 128
"""No token makes the rest of a script that much longer; the worst opens a tile of 64 factors."""


class Rows:
    """The masks of rows of tokens.

    Args:
        masker: what makes the states.
        tasks: the workloads of the prompts, in their order; None is one prompt without any. The
            rows of a prompt stand together, as many for each prompt.
        max_new_tokens: if given, a row is finished after that many tokens, `<eos>` included.

    Raises:
        ValueError: no script is as short as `max_new_tokens`, or there is no task.
    """

    def __init__(
        self,
        masker: ScriptMasker,
        tasks: Sequence[TaskInfo | None] | None = None,
        max_new_tokens: int | None = None,
    ) -> None:
        tasks = (None,) if tasks is None else tasks
        if not tasks:
            raise ValueError("tasks: expected one for each prompt, found none")
        self._eos = masker.tokenizer.eos_id
        self._pad = masker.tokenizer.pad_id
        self._words = masker.mask_words
        self._size = masker.tokenizer.vocab_size
        self._budget = max_new_tokens
        self._prefixes = [_Prefixes(masker.new(task)) for task in tasks]
        least = max(prefixes.start.remaining_min() for prefixes in self._prefixes)
        if max_new_tokens is not None and max_new_tokens < least:
            raise ValueError(f"max_new_tokens: expected {least} or more, found {max_new_tokens}")

    def allowed(self, rows: Sequence[Sequence[int]], vocab_size: int) -> NDArray[np.bool_]:
        """Which tokens may come next in each row.

        A row that has ended lets `<eos>` and `<pad>` through. So does one that holds a token
        that was not let through: beam search goes on with such rows, at a score of minus
        infinity, when it has no others.

        Args:
            rows: the tokens that were generated.
            vocab_size: the size of the result; no token above those of the tokenizer is allowed.

        Raises:
            ValueError: the rows are not as many for each task, or the size is too small.
        """
        if len(rows) % len(self._prefixes):
            expected = f"a multiple of {len(self._prefixes)}, the number of tasks"
            raise ValueError(f"rows: expected {expected}, found {len(rows)}")
        if vocab_size < self._size:
            raise ValueError(f"scores: expected {self._size} tokens or more, found {vocab_size}")
        width = max(self._words, -(-vocab_size // 32))
        words = np.zeros((len(rows), width), dtype=np.int32)
        choices: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            prefixes = self._prefixes[number * len(self._prefixes) // len(rows)]
            state, choice = self._choice(row, prefixes)
            if choice is None:
                state.fill_bitmask(words, number)
            else:
                choices[number] = choice
        data = words.view(np.uint8)  # pyright: ignore[reportUnknownMemberType] - numpy's own types
        flags = np.unpackbits(data, axis=1, count=vocab_size, bitorder="little") != 0
        for number, choice in choices.items():
            flags[number, choice] = True
        for prefixes in self._prefixes:
            prefixes.keep(_KEPT * len(rows))
        return flags

    def _choice(
        self, row: Sequence[int], prefixes: _Prefixes
    ) -> tuple[MaskState, list[int] | None]:
        """The state of a row, and the tokens that may come next if they are not simply its mask."""
        tokens = tuple(row)
        if self._eos in tokens:
            tokens = tokens[: tokens.index(self._eos) + 1]
        state = prefixes.after(tokens)
        if state is None or state.is_finished():
            return prefixes.start, [self._eos, self._pad]
        left = None if self._budget is None else self._budget - len(tokens)
        if left is None or left > state.remaining_min() + _REACH:
            return state, None
        return state, _within(state, left)


class _Prefixes:
    """The states of one task by the tokens that lead to them."""

    def __init__(self, start: MaskState) -> None:
        self.start = start
        self._known: OrderedDict[tuple[int, ...], MaskState | None] = OrderedDict()

    def after(self, tokens: tuple[int, ...]) -> MaskState | None:
        """The state after some tokens, not to be changed; None if some are not let through."""
        length = len(tokens)
        while length and tokens[:length] not in self._known:
            length -= 1
        state = self._known[tokens[:length]] if length else self.start
        rest = tokens[length:]
        if state is not None and rest:
            state = state.fork()
            state = state if state.try_advance(rest) == len(rest) else None
        self._known[tokens] = state
        self._known.move_to_end(tokens)
        return state

    def keep(self, most: int) -> None:
        """Forget the states that were asked for longest ago; they can be computed again."""
        while len(self._known) > most:
            self._known.popitem(last=False)


def _within(state: MaskState, left: int) -> list[int]:
    """The tokens after which the script can be finished with the tokens that are left."""
    tokens: list[int] = []
    ahead = state.fork()
    for token in state.allowed_tokens().tolist():
        ahead.advance(token)
        if ahead.remaining_min() < left:
            tokens.append(token)
        ahead.rollback()
    return tokens or state.completion()[:1]
