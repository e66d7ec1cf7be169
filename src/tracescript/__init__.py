"""TraceScript: the exact, compact text form of a TVM MetaSchedule trace."""

from tracescript._grammar import grammar_text
from tracescript.decode import loads
from tracescript.dependencies import graph, simplify
from tracescript.difference import Difference, diff
from tracescript.encode import dumps
from tracescript.errors import (
    IllegalToken,
    MigrationError,
    Refusal,
    RefusedToken,
    ReplayError,
    TokenizerError,
    TraceFileError,
    TraceScriptError,
    TraceShapeError,
    TraceSyntaxError,
    TraceVersionError,
)
from tracescript.files import Record, Summary, decode_file, encode_file, iter_records
from tracescript.json_trace import from_json, to_json
from tracescript.migration import AppliedStep, Migration, infer_release, migrate
from tracescript.model import (
    MAX_DEPTH,
    MAX_OUTPUTS,
    NULL,
    RV,
    Decision,
    IndexMap,
    Input,
    Instruction,
    JSONNull,
    Trace,
    Value,
)

__all__ = [
    "MAX_DEPTH",
    "MAX_OUTPUTS",
    "NULL",
    "RV",
    "AppliedStep",
    "Decision",
    "Difference",
    "IllegalToken",
    "IndexMap",
    "Input",
    "Instruction",
    "JSONNull",
    "Migration",
    "MigrationError",
    "Record",
    "Refusal",
    "RefusedToken",
    "ReplayError",
    "Summary",
    "TokenizerError",
    "Trace",
    "TraceFileError",
    "TraceScriptError",
    "TraceShapeError",
    "TraceSyntaxError",
    "TraceVersionError",
    "Value",
    "decode_file",
    "diff",
    "dumps",
    "encode_file",
    "from_json",
    "grammar_text",
    "graph",
    "infer_release",
    "iter_records",
    "loads",
    "migrate",
    "simplify",
    "to_json",
]
