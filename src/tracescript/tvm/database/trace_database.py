"""A MetaSchedule database whose records are a `.trace` file."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false, reportPrivateUsage=false
# TVM has no type stubs, and the base class has no public name.

from __future__ import annotations

import os

from tvm.ir import IRModule
from tvm.s_tir.meta_schedule.database import TuningRecord, Workload
from tvm.s_tir.meta_schedule.database.database import _PyDatabase

from tracescript.tvm.database.convert import RECORDS, WORKLOADS, Folder
from tracescript.tvm.database.store import Store

__all__ = ["TraceDatabase"]


# TVM asks for a subclass of `PyDatabase` under `derived_object`. That would hide this class
# behind another, turn its errors into RuntimeError, and leave `module_equality` out.
class TraceDatabase(_PyDatabase):
    """A database like TVM's JSONDatabase, in smaller files that lose nothing.

    It gives the answers of a JSONDatabase. What it differs in:

    - Records come back from the disk as they were committed. They are read as far as they are
      asked for, and are not replayed on their workload.
    - When a commit returns, the disk has it. A process that is killed leaves whole records,
      and at most a torn one at the end, which the next commit overwrites.
    - Several processes may commit at once. What others have committed is seen after a commit
      of one's own, or by a new object.
    - To open files that are there changes nothing in them; they need not be writable.
    - A record whose workload is not in the database is refused before it is stored.

    Errors keep their types in the methods below. Where TVM is the caller, as in
    `query_schedule`, it makes each of them a RuntimeError with the same message.

    Law: a database that is opened anew gives the same answers, and its records are those that
    were committed: `from_tvm(record.trace)`, run times, target and arguments are the same.
    """

    __slots__ = ("_store",)

    def __init__(
        self,
        path_workload: Folder | None = None,
        path_tuning_record: Folder | None = None,
        *,
        work_dir: Folder | None = None,
        allow_missing: bool = True,
        module_equality: str = "structural",
    ) -> None:
        """Open the files, or make them.

        Args:
            path_workload: the file of the workloads, such as `database_workload.b85`.
            path_tuning_record: the file of the records, such as `database_tuning_record.trace`.
            work_dir: the folder in which the files have these names, unless they are given.
            allow_missing: whether files that are not there are made.
            module_equality: what makes two workloads equal: `structural`, `ignore-tensor` or
                `anchor-block`, as for a JSONDatabase.

        Raises:
            ValueError: no path is given, or a file is missing that may not be.
            TraceFileError: a file is none of a database; the error has the line.
            OSError: a file cannot be opened or made, or the platform has no file locks.
        """
        store = Store(
            _path(path_workload, "path_workload", work_dir, WORKLOADS),
            _path(path_tuning_record, "path_tuning_record", work_dir, RECORDS),
            allow_missing=allow_missing,
            module_equality=module_equality,
        )
        super().__init__(
            f_has_workload=store.has_workload,
            f_commit_workload=store.commit_workload,
            f_commit_tuning_record=store.commit_tuning_record,
            f_get_top_k=store.get_top_k,
            f_get_all_tuning_records=store.get_all_tuning_records,
            f_size=store.size,
            module_equality=module_equality,
        )
        self._store = store

    @property
    def path_workload(self) -> str:
        """The file of the workloads."""
        return self._store.path_workload

    @property
    def path_tuning_record(self) -> str:
        """The file of the records."""
        return self._store.path_record

    # TVM's methods would ask TVM, which asks the store; an error would lose its type on the way.

    def has_workload(self, mod: IRModule) -> bool:
        """Whether an equal module was committed."""
        return self._store.has_workload(mod)

    def commit_workload(self, mod: IRModule) -> Workload:
        """Give the workload of a module, and append it to the file if there is no equal one.

        Raises:
            TraceFileError: another program has damaged the files, or the module is too large.
            OSError: it could not be written.
        """
        return self._store.commit_workload(mod)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Append a record to the file.

        Raises:
            ValueError: its workload is not in the database.
            TraceShapeError: its trace is beyond the limits of scripts.
            TraceFileError: another program has damaged the files.
            OSError: it could not be written.
        """
        self._store.commit_tuning_record(record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """Give the fastest records of a workload, those that were measured and do something.

        Raises:
            ValueError: `top_k` is negative.
            TraceFileError: a record is damaged, or this TVM has no such trace.
        """
        return self._store.get_top_k(workload, top_k)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """Give all records, the fastest first.

        Raises:
            TraceFileError: a record is damaged, or this TVM has no such trace.
        """
        return self._store.get_all_tuning_records()

    def __len__(self) -> int:
        return self._store.size()


def _path(path: Folder | None, name: str, work_dir: Folder | None, default: str) -> str:
    if path is not None:
        return os.fspath(path)
    if work_dir is None:
        raise ValueError(f"expected {name} or work_dir")
    return os.path.join(work_dir, default)
