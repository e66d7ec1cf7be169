"""Folders of databases: TVM's form to ours, and back. No TVM is needed."""

from __future__ import annotations

import os
from typing import TypeAlias, Union

from tracescript.files import decode_file, encode_file
from tracescript.tvm.database.workloads import decode_workloads, encode_workloads

__all__ = ["RECORDS", "WORKLOADS", "decode_database", "encode_database"]

WORKLOADS = "database_workload.b85"
RECORDS = "database_tuning_record.trace"
"""The files of a `TraceDatabase` in its folder."""

_JSON_WORKLOADS = "database_workload.json"
_JSON_RECORDS = "database_tuning_record.json"

Folder: TypeAlias = Union[str, "os.PathLike[str]"]


def encode_database(source: Folder, target: Folder) -> None:
    """Make the files of a `TraceDatabase` of those of a JSONDatabase.

    Law: `decode_database` of the result gives the bytes of the source.

    Args:
        source: the folder with `database_workload.json` and `database_tuning_record.json`.
        target: the folder for the new files; it may be the same.

    Raises:
        TraceFileError: a workload is none that TVM writes; the error has the line.
    """
    encode_workloads(os.path.join(source, _JSON_WORKLOADS), os.path.join(target, WORKLOADS))
    encode_file(os.path.join(source, _JSON_RECORDS), os.path.join(target, RECORDS))


def decode_database(source: Folder, target: Folder) -> None:
    """Make the files of a JSONDatabase of those of a `TraceDatabase`.

    The JSON of records that a `TraceDatabase` wrote has true and 1.0 where TVM writes 1; TVM
    reads both.

    Args:
        source: the folder with `database_workload.b85` and `database_tuning_record.trace`.
        target: the folder for the new files; it may be the same.

    Raises:
        TraceFileError: a file is damaged, or was cut off; the error has the line.
    """
    decode_workloads(os.path.join(source, WORKLOADS), os.path.join(target, _JSON_WORKLOADS))
    decode_file(os.path.join(source, RECORDS), os.path.join(target, _JSON_RECORDS))
