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
        ended: list[int] = []
        for number, row in enumerate(rows):
            prefixes = self._prefixes[number * len(self._prefixes) // len(rows)]
            state, left = self._state(row, prefixes)
            if state is None:
                ended.append(number)
            else:
                state.fill_bitmask(words, number, left=left)
        data = words.view(np.uint8)  # pyright: ignore[reportUnknownMemberType] - numpy's own types
        flags = np.unpackbits(data, axis=1, count=vocab_size, bitorder="little") != 0
        flags[np.array(ended, dtype=np.intp)[:, None], [self._eos, self._pad]] = True
        for prefixes in self._prefixes:
            prefixes.keep(_KEPT * len(rows))
        return flags

    def _state(
        self, row: Sequence[int], prefixes: _Prefixes
    ) -> tuple[MaskState | None, int | None]:
        """The state of a row, None if it has ended, and how many tokens are left to it."""
        tokens = tuple(row)
        if self._eos in tokens:
            return None, None
        state = prefixes.after(tokens)
        return state, None if self._budget is None else self._budget - len(tokens)


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
