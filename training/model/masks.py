"""The masks of scripts that are written at once, made in this process or in several.

To make a mask takes longer than a small model on a GPU takes for the token, and a process makes one
after the other. Each of several has some of the scripts, follows them from token to token, and
makes their masks while the model computes what the tokens are chosen from.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Sequence
from contextlib import AbstractContextManager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracescript import TraceScriptError
from tracescript._interrupts import interrupts_after
from tracescript.masks import MaskState, ScriptMasker, TaskInfo

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Begun", "MaskProcesses", "Masks", "MasksHere", "Taken"]

_DEAD = "a process that makes masks has died"


class Begun(NamedTuple):
    """A script that begins."""

    slot: int
    """What the script is called until it ends; after that, another one may be called so."""
    task: TaskInfo | None
    """The workload that the script has to fit."""
    left: int
    """How many tokens it may have, the end included."""


class Taken(NamedTuple):
    """A script that goes on."""

    slot: int
    token: int
    """The token that was chosen."""
    left: int
    """How many may come after it, the end included."""


class Masks(Protocol):
    """Makes the masks of scripts; a new batch of scripts is begun with `reset`."""

    def reset(self, slots: int) -> None:
        """Forget all scripts; slots are below this number from now on."""
        ...

    def update(self, changes: Sequence[Begun | Taken]) -> None:
        """Begin to make the masks of scripts that begin or go on, of each at most once."""
        ...

    def bits(self, slots: Sequence[int]) -> NDArray[np.int32]:
        """The masks of scripts, (slots, words), as `MaskState.fill_bitmask` writes them."""
        ...


class MasksHere:
    """Makes masks in this process.

    Args:
        masker: of the tokenizer and the release.

    Raises:
        IllegalToken: by `update`: a token was taken that could not come.
    """

    def __init__(self, masker: ScriptMasker) -> None:
        self._masker = masker
        self.reset(0)

    def reset(self, slots: int) -> None:
        """Forget all scripts."""
        self._states: dict[int, MaskState] = {}
        self._bits = np.zeros((slots, self._masker.mask_words), dtype=np.int32)

    def update(self, changes: Sequence[Begun | Taken]) -> None:
        """Make the masks of scripts that begin or go on."""
        for change in changes:
            if isinstance(change, Begun):
                state = self._states[change.slot] = self._masker.new(change.task)
            else:
                state = self._states[change.slot]
                state.advance(change.token)
            state.fill_bitmask(self._bits, change.slot, left=change.left)

    def bits(self, slots: Sequence[int]) -> NDArray[np.int32]:
        """The masks of scripts, as they are now."""
        return self._bits[np.array(slots, dtype=np.intp)]


class MaskProcesses(AbstractContextManager["MaskProcesses"]):
    """Makes masks in processes of their own, which end with the context.

    Law: the masks are those of `MasksHere`.

    Args:
        masker: of the tokenizer and the release; each process has its own tables.
        processes: how many; None is one for each core but one.
        examples: scripts and their workloads, from which the processes make tables while this one
            goes on; see `ScriptMasker.warm`.

    Raises:
        RuntimeError: by its methods: a process could not make a mask, or has died.
    """

    def __init__(
        self,
        masker: ScriptMasker,
        processes: int | None = None,
        examples: Sequence[tuple[str, TaskInfo]] = (),
    ) -> None:
        processes = processes or max((os.cpu_count() or 2) - 1, 1)
        # Not a fork of this process: it may have used threads or a GPU.
        context: Any = get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._words = masker.mask_words
        self._processes: list[Any] = []
        self._pipes: list[Connection] = []
        self._awaited: list[list[int] | None] = [None] * processes
        """The slots whose masks each process is making; None if it is making none."""
        with interrupts_after():
            for _ in range(processes):
                pipe, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs, masker, examples))
                process.daemon = True
                process.start()
                theirs.close()
                self._processes.append(process)
                self._pipes.append(pipe)
        self.reset(0)

    def __exit__(self, *_: object) -> None:
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            pipe.close()
            process.kill()
            process.join()

    def wait(self) -> Self:
        """Wait until the processes have done what they were told, their tables included."""
        for number, pipe in enumerate(self._pipes):
            slots = self._awaited[number]
            if slots is None:
                continue
            try:
                made = pipe.recv()
            except (EOFError, OSError):
                raise RuntimeError(_DEAD) from None
            self._awaited[number] = None
            if isinstance(made, str):
                raise RuntimeError(f"a process could not make a mask: {made}")
            if slots:
                self._bits[slots] = np.frombuffer(made, dtype=np.int32).reshape(-1, self._words)
        return self

    def reset(self, slots: int) -> None:
        """Forget all scripts; this takes up what the last batch has left unfinished."""
        self.wait()
        self._bits = np.zeros((slots, self._words), dtype=np.int32)
        each = -(-slots // len(self._pipes))
        for number in range(len(self._pipes)):
            self._tell(number, each, [])

    def update(self, changes: Sequence[Begun | Taken]) -> None:
        """Tell the processes which scripts begin or go on."""
        self.wait()
        count = len(self._pipes)
        shares: list[list[Begun | Taken]] = [[] for _ in self._pipes]
        for change in changes:
            shares[change.slot % count].append(change)
        for number, share in enumerate(shares):
            if share:
                # In the process the slots are numbered by themselves.
                inside = [change._replace(slot=change.slot // count) for change in share]
                self._tell(number, inside, [change.slot for change in share])

    def bits(self, slots: Sequence[int]) -> NDArray[np.int32]:
        """The masks of scripts, once they are made."""
        self.wait()
        return self._bits[np.array(slots, dtype=np.intp)]

    def _tell(self, number: int, message: int | list[Begun | Taken], slots: list[int]) -> None:
        try:
            self._pipes[number].send(message)
        except OSError:
            raise RuntimeError(_DEAD) from None
        self._awaited[number] = slots


def _serve(
    pipe: Connection, masker: ScriptMasker, examples: Sequence[tuple[str, TaskInfo]]
) -> None:
    """Answer changes with the masks of their slots, and a number of slots when they are reset."""
    # Ctrl-C is for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Masks make no cycles, but so many objects that to look for some takes longer than the masks.
    gc.disable()
    for script, task in examples:
        masker.warm([script], task)
    masks = MasksHere(masker)
    try:
        while True:
            message = pipe.recv()
            if isinstance(message, int):
                masks.reset(message)
                pipe.send(b"")
            else:
                masks.update(message)
                pipe.send(masks.bits([change.slot for change in message]).tobytes())
    except EOFError:
        return
    except TraceScriptError as error:
        pipe.send(str(error))
