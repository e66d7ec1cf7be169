"""Take a trace to a later release."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tracescript.errors import MigrationError, Refusal
from tracescript.instructions import RELEASES
from tracescript.migration.clues import clues_of, infer_release, is_before
from tracescript.migration.index_maps import FORMAT, releases_of
from tracescript.migration.steps import STEPS, Journey, Refused, Step
from tracescript.migration.texts import index_map_texts
from tracescript.model import Instruction, Trace

__all__ = ["AppliedStep", "Migration", "migrate"]


class AppliedStep(msgspec.Struct, frozen=True):
    """A step that a migration took.

    Attributes:
        name: the name of the step.
        since: the first release of TVM with the change.
        reference: the pull requests of TVM that made the change.
        insts: the positions of the instructions that were rewritten.
    """

    name: str
    since: str
    reference: str
    insts: tuple[int, ...]


class Migration(msgspec.Struct, frozen=True):
    """What came of a trace.

    Attributes:
        trace: the trace for the later release.
        releases: those that can have recorded the trace that was given, oldest first.
        steps: what was done, in order; nothing if the trace fits the release already.
    """

    trace: Trace
    releases: tuple[str, ...]
    steps: tuple[AppliedStep, ...]


def migrate(trace: Trace, to: str = RELEASES[-1], *, recorded_by: str | None = None) -> Migration:
    r"""Rewrite a trace in the forms of a later release of TVM, so that it can be replayed there.

    Laws: the result can come from the release, `to in infer_release(migrate(trace, to).trace)`.
    The instructions keep their number, order and outputs, and the decisions stay as they are.
    A trace that can come from the release already is returned as it is, without steps; so
    migrating twice is migrating once.

    It is not promised that the trace can be replayed on a given module: TVM may build it with
    other blocks now.

    Args:
        trace: a trace of any release.
        to: the release to write it for.
        recorded_by: the release that recorded it, where that is known. It matters for what
            changed its meaning and kept its form.

    Raises:
        MigrationError: something cannot be known, or the release has nothing like it; the
            error names every such place.
        TraceShapeError: the trace holds an object that no trace can hold.
        ValueError: the table of kinds does not know a release.

    >>> from tracescript import dumps, loads
    >>> old = loads('tracescript 1\nGetBlock | "C" "main" -> b\nSplit @"l1" null 4 | 1 -> l2\n')
    >>> migration = migrate(old)
    >>> print(dumps(migration.trace), end="")
    tracescript 1
    GetSBlock | "C" "main" -> b
    Split @"l1" null 4 | 1 0 -> l2
    >>> [(step.name, step.reference, step.insts) for step in migration.steps]
    [('split-predication', '#16862', (1,)), ('get-sblock', '#18689', (0,))]
    """
    _require_known(to)
    _require_known(recorded_by or to)
    releases = _origin(trace, to, recorded_by)
    if to in releases:
        return Migration(trace, releases, ())
    if is_before(to, releases[0]):
        raise MigrationError(to, tuple(_too_new(trace, to, recorded_by)))
    return _rewritten(trace, Journey(releases, to))


def _require_known(release: str) -> None:
    if release not in RELEASES:
        known = ", ".join(RELEASES)
        raise ValueError(f"expected a release of TVM, one of {known}, found {release!r}")


def _rewritten(trace: Trace, journey: Journey) -> Migration:
    insts: list[Instruction] = []
    refusals: list[Refusal] = []
    touched: dict[Step, list[int]] = {step: [] for step in STEPS}
    for position, inst in enumerate(trace.insts):
        if journey.to != FORMAT:
            refusals += _old_texts(f"$[0][{position}]", inst, journey.to)
        try:
            after, steps = _taken(inst, journey)
        except Refused as refused:
            path = f"$[0][{position}]{refused.place}"
            refusals.append(Refusal(path, refused.reason, refused.advice))
            continue
        insts.append(after)
        for step in steps:
            touched[step].append(position)
    if refusals:
        raise MigrationError(journey.to, tuple(refusals))
    applied = tuple(
        AppliedStep(step.name, step.since, step.reference, tuple(positions))
        for step, positions in touched.items()
        if positions
    )
    return Migration(Trace(tuple(insts), trace.decisions), journey.releases, applied)


def _taken(inst: Instruction, journey: Journey) -> tuple[Instruction, list[Step]]:
    """Take an instruction through all steps, and say which of them it needed."""
    needed: list[Step] = []
    for step in STEPS:
        if is_before(journey.to, step.since):
            continue
        after = step.rewrite(inst, journey)
        if after is not inst:
            needed.append(step)
        inst = after
    return inst, needed


def _old_texts(path: str, inst: Instruction, to: str) -> Iterator[Refusal]:
    """The index maps that another release wrote, where none can be written for this one."""
    for place, text in index_map_texts(inst):
        if to not in releases_of(text):
            reason = f"this index map is not as TVM {to} writes it"
            yield Refusal(path + place, reason, f"migrate to {FORMAT}: others are not written")


def _origin(trace: Trace, to: str, recorded_by: str | None) -> tuple[str, ...]:
    """The releases that a trace can come from, at least one."""
    releases = infer_release(trace)
    if not releases:
        raise MigrationError(to, tuple(_contradictions(trace)))
    if recorded_by is None:
        return releases
    if recorded_by not in releases:
        raise MigrationError(to, tuple(_not_of(trace, recorded_by)))
    return (recorded_by,)


def _contradictions(trace: Trace) -> Iterator[Refusal]:
    """Why no release can have recorded a trace."""
    clues = list(clues_of(trace))
    unknown = [clue for clue in clues if not clue.releases]
    for clue in unknown:
        reason = f"no release of TVM writes {clue.found}"
        yield Refusal(clue.path, reason, "mend it, or take it out; tracescript check may help")
    if unknown:
        return
    newest = max(clues, key=lambda clue: RELEASES.index(clue.releases[0]))
    oldest = min(clues, key=lambda clue: RELEASES.index(clue.releases[-1]))
    reason = (
        f"{newest.found} is not of TVM before {newest.releases[0]}, but {oldest.path} has "
        f"{oldest.found}, which is not of TVM after {oldest.releases[-1]}"
    )
    yield Refusal(newest.path, reason, "take one trace for each release apart, or mend it")


def _not_of(trace: Trace, release: str) -> Iterator[Refusal]:
    for clue in clues_of(trace):
        if release not in clue.releases:
            reason = f"TVM {release} does not write {clue.found}"
            yield Refusal(clue.path, reason, "name another release, or none")


def _too_new(trace: Trace, to: str, recorded_by: str | None) -> Iterator[Refusal]:
    advice = "traces can only be migrated forward"
    if recorded_by is not None:
        yield Refusal("$", f"it was recorded by TVM {recorded_by}", advice)
    for clue in clues_of(trace):
        if is_before(to, clue.releases[0]):
            yield Refusal(
                clue.path, f"{clue.found} is not of TVM before {clue.releases[0]}", advice
            )
