"""Tuning logs as files: JSON logs, `.trace` files, and the way between them.

Data flows one way. A line of a log is read and written by `records`, an entry of
a `.trace` file by `entries`; `convert` runs whole files through both, in
parallel, and `output` sees to it that no half-written file is left behind.
"""

from tracescript.files.convert import Summary, decode_file, encode_file
from tracescript.files.read import iter_records
from tracescript.files.records import Record

__all__ = ["Record", "Summary", "decode_file", "encode_file", "iter_records"]
