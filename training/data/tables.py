"""The Parquet files of the data sets: their columns, and how they are written."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from training.data import files


def _texts(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.string()) for name in names]


def _numbers(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.float64()) for name in names]


WORKLOAD = _texts("key", "family", "target", "prompt")

PRETRAIN = pa.schema([*WORKLOAD, *_texts("script"), pa.field("reproduced", pa.bool_())])
CONSTRUCT = pa.schema([*WORKLOAD, *_texts("script"), *_numbers("latency", "best_latency")])
REFINE = pa.schema(
    [
        *WORKLOAD,
        *_texts("given", "script"),
        *_numbers("given_latency", "latency", "ratio", "best_latency"),
    ]
)
MEASURED = pa.schema(
    [
        *_texts("key", "family", "target", "split", "script", "source", "stage", "reason"),
        *_numbers("median", "low", "high"),
        pa.field("samples", pa.int64()),
        *_numbers("clock", "error"),
        *_texts("card"),
    ]
)


def write(path: Path, rows: Sequence[files.Row], schema: pa.Schema) -> None:
    """Write rows, whole or not at all; the same rows give the same file.

    No rows make no file: `datasets` cannot read one without rows.
    """
    if not rows:
        path.unlink(missing_ok=True)
        return
    content = io.BytesIO()
    table = pa.Table.from_pylist(list(rows), schema=schema)
    parquet.write_table(table, content, compression="zstd", compression_level=19)
    files.write(path, content.getvalue())


def read(path: Path) -> list[files.Row]:
    """Return the rows of a file; none if there is no file."""
    return parquet.read_table(path).to_pylist() if path.is_file() else []
