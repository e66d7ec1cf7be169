"""What a database holds in memory, and how it keeps up with its files."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# TVM has no type stubs.

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tvm.ir import IRModule
from tvm.s_tir.meta_schedule.arg_info import ArgInfo
from tvm.s_tir.meta_schedule.database import JSONDatabase, TuningRecord, Workload
from tvm.target import Target

from tracescript.files.records import Record
from tracescript.instructions import KINDS
from tracescript.json_trace import value_from_json, value_to_json
from tracescript.tvm.boxes import unbox
from tracescript.tvm.database.files import locked
from tracescript.tvm.database.records import LoggedRecord, Ranking, RecordFile, seconds
from tracescript.tvm.database.workloads import StoredModule, WorkloadFile
from tracescript.tvm.traces import from_tvm, to_tvm

__all__ = ["Store"]


class Store:
    """The workloads and records of a `TraceDatabase`, and the two files that they are in.

    Its methods are those of the database; see there. It is an object of its own because TVM's
    half of the database refers to it: two halves that referred to each other would never be
    freed.
    """

    def __init__(
        self, path_workload: str, path_record: str, *, allow_missing: bool, module_equality: str
    ) -> None:
        self._workloads = _Workloads(module_equality)
        self._records: list[Any] = []
        self._ranking = Ranking()
        self._workload_file = WorkloadFile(path_workload)
        self._record_file = RecordFile(path_record)
        files = (self._workload_file.file, self._record_file.file)
        missing = [file for file in files if not os.path.exists(file.path)]
        if missing and not allow_missing:
            raise ValueError(f"there is no file {missing[0].path}, and allow_missing is false")
        for file in missing:
            with open(file.path, "ab"):
                pass
        with locked(path_workload, writing=bool(missing)):
            self._read()
            for file in missing:
                # The header, unless another process was faster.
                file.append(b"")

    @property
    def path_workload(self) -> str:
        """The file of the workloads, whose lock is that of the database."""
        return self._workload_file.file.path

    @property
    def path_record(self) -> str:
        """The file of the records."""
        return self._record_file.file.path

    def has_workload(self, mod: IRModule) -> bool:
        """Whether a module is there, by the equality of the database."""
        return self._workloads.find(mod) is not None

    def commit_workload(self, mod: IRModule) -> Any:
        """The workload of a module, which is stored if it is new."""
        index = self._workloads.find(mod)
        return self._workloads[self._add_workload(mod) if index is None else index]

    def commit_tuning_record(self, record: Any) -> None:
        """Store a record, and wait for the disk."""
        index = self._workloads.first(record.workload)
        if index is None:
            raise ValueError("the workload of the record is not in the database: commit it first")
        written = _from_tvm(record, index)
        run_secs = seconds(written.run_secs)
        with self._up_to_date():
            self._record_file.append(written)
            self._hold(index, run_secs, record)

    def get_top_k(self, workload: Any, top_k: int) -> list[Any]:
        """The best records of a workload, the fastest first."""
        if top_k < 0:
            raise ValueError(f"top_k must not be negative, found {top_k}")
        group = self._workloads.first(workload)
        found: list[Any] = []
        if group is None:
            return found
        for number in self._ranking.measured(group):
            if len(found) == top_k:
                break
            record = self._record(number)
            if _has_steps(record.trace):
                found.append(record)
        return found

    def get_all_tuning_records(self) -> list[Any]:
        """Every record, in TVM's order."""
        return [self._record(number) for number in self._ranking.all()]

    def size(self) -> int:
        """How many records there are."""
        return len(self._records)

    @contextmanager
    def _up_to_date(self) -> Generator[None]:
        """Keep other processes from writing, after all that they have written was read."""
        with locked(self.path_workload, writing=True):
            self._read()
            yield

    def _read(self) -> None:
        for line, module in self._workload_file.read():
            try:
                workload = _workload(module)
            except Exception as error:
                # TVM raises many kinds of error.
                message = f"TVM cannot read this module: {error}"
                raise self._workload_file.file.error(message, line) from error
            self._workloads.add(workload)
        for logged in self._record_file.read():
            count = len(self._workloads)
            if not 0 <= logged.workload < count:
                raise logged.error(f"there is no workload {logged.workload}, only {count} of them")
            self._hold(logged.workload, logged.run_secs, logged)

    def _add_workload(self, mod: IRModule) -> int:
        workload = Workload(mod)
        with self._up_to_date():
            index = self._workloads.find(mod)
            # Another process may have been faster.
            if index is not None:
                return index
            self._workload_file.append(StoredModule.from_json(workload.as_json()))
            return self._workloads.add(workload)

    def _hold(self, workload: int, run_secs: tuple[float, ...] | None, record: Any) -> None:
        """Take up the next record: TVM's object, or what the file has in its place."""
        self._ranking.add(self._workloads.group(workload), run_secs)
        self._records.append(record)

    def _record(self, number: int) -> Any:
        """A record as TVM's object, made when it is asked for."""
        record = self._records[number]
        if isinstance(record, LoggedRecord):
            record = _to_tvm(record, self._workloads[record.workload])
            self._records[number] = record
        return record


class _Workloads:
    """The workloads of a database by their indices, and which of them TVM takes for equal.

    A JSONDatabase over the null device knows what is equal, under each `module_equality`, and
    finds it by its hash.
    """

    def __init__(self, module_equality: str) -> None:
        self._equal = JSONDatabase(os.devnull, os.devnull, module_equality=module_equality)
        self._workloads: list[Any] = []
        self._first: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self._workloads)

    def __getitem__(self, index: int) -> Any:
        return self._workloads[index]

    def add(self, workload: Any) -> int:
        """Add the workload of the next index, and give the index."""
        index = len(self._workloads)
        # The hash of a workload may be that of another equality, or of another TVM.
        known = self._equal.commit_workload(workload.mod)
        if known in self._first:
            # An equal one came before. Its blocks may have other names, so both are kept.
            workload = Workload.from_json([known.as_json()[0], workload.as_json()[1]])
        else:
            workload = known
        self._workloads.append(workload)
        self._first[workload] = self._first.get(known, index)
        return index

    def group(self, index: int) -> int:
        """The index of the first workload that equals the one of an index."""
        return self._first[self._workloads[index]]

    def find(self, mod: IRModule) -> int | None:
        """The index of the first workload that equals a module."""
        if not self._equal.has_workload(mod):
            return None
        return self._first[self._equal.commit_workload(mod)]

    def first(self, workload: Any) -> int | None:
        """The index of the first workload that equals a workload."""
        index = self._first.get(workload)
        return self.find(workload.mod) if index is None else index


def _workload(module: StoredModule) -> Any:
    # Nesting that overflows the stack of TVM's parser is an error of Python's.
    json.loads(module.data[8:])
    workload: Any = Workload.from_json(module.to_json())
    # TVM reads a null as a module that it crashes on.
    if not isinstance(workload.mod, IRModule):
        raise TypeError("it is null")
    return workload


def _has_steps(trace: Any) -> bool:
    """Whether there is anything before the post-processors, without which TVM ranks no record."""
    insts = trace.insts
    return bool(insts) and not KINDS[insts[0].kind.name].starts_postproc


def _from_tvm(record: Any, workload: int) -> Record:
    target, infos = record.target, record.args_info
    return Record(
        from_tvm(record.trace),
        workload,
        value_from_json(unbox(record.run_secs)),
        # TVM has no fixed order of the keys. With one, the file need not repeat the target.
        value_from_json(None if target is None else dict(sorted(unbox(target.export()).items()))),
        value_from_json(None if infos is None else [info.as_json() for info in infos]),
    )


def _to_tvm(logged: LoggedRecord, workload: Any) -> Any:
    record = logged.record()
    target, infos = value_to_json(record.target), value_to_json(record.args_info)
    try:
        return TuningRecord(
            to_tvm(record.trace),
            workload,
            None if logged.run_secs is None else list(logged.run_secs),
            None if target is None else Target(target),
            None if infos is None else [ArgInfo.from_json(info) for info in infos],
        )
    except Exception as error:
        # TVM raises many kinds of error.
        raise logged.error(str(error)) from error
