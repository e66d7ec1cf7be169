"""Live TVM traces as the two JSON forms that logs hold: Python's, and that of TVM's own files."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import tvm
from tvm.s_tir.meta_schedule.database import JSONDatabase, TuningRecord
from tvm.s_tir.schedule import Trace
from tvm.script import tirx as T  # noqa: N812 - TVMScript's convention

from tracescript import to_json
from tracescript.tvm import from_tvm


def python_form(trace: Trace) -> Any:
    """Return what `Trace.as_json` gives, as plain values: 1, 1.0 and True stay apart."""
    return to_json(from_tvm(trace))


class FileForm:
    """Turns traces into what TVM writes into `database_tuning_record.json`, where True is 1.

    TVM offers no function for it, so this writes a database and reads the line back. All records
    name one empty workload: TVM does not check that a trace fits it.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._database = JSONDatabase(work_dir=self._folder.name)
        self._workload = self._database.commit_workload(_nothing())
        self._position = 0

    def __call__(self, trace: Trace) -> Any:
        """Return the trace as the file has it."""
        self._database.commit_tuning_record(TuningRecord(trace, self._workload))
        with (Path(self._folder.name) / "database_tuning_record.json").open("rb") as file:
            file.seek(self._position)
            line = file.readline()
        self._position += len(line)
        return json.loads(line)[1][0]


def _nothing() -> tvm.IRModule:
    @T.prim_func(s_tir=True)
    def main(a: T.Buffer((1,), "float32")) -> None:
        for i in range(1):
            with T.sblock("nothing"):
                j = T.axis.remap("S", [i])
                a[j] = 0.0

    return tvm.IRModule({"main": main})
