"""Coverage-guided fuzzing of everything that reads input that nobody vouches for.

    pip install atheris
    python tests/fuzz_atheris.py -max_total_time=600 CORPUS_FOLDER

`loads`, `decode_file` and `encode_file` may give a result that keeps their laws or
raise a `TraceScriptError`; anything else is a crash, and libFuzzer keeps the input.
The folder may be empty; what reaches new branches is added to it.
"""

import io
import sys

import atheris

with atheris.instrument_imports(include=["tracescript"]):
    from tracescript import TraceScriptError, decode_file, dumps, encode_file, loads, testing
    from tracescript.testing import laws  # noqa: F401 - instrumented with the rest


def check(data: bytes) -> None:
    choice, data = data[:1], data[1:]
    if choice <= b"\x55":
        text = data.decode("utf-8", "surrogateescape" if choice < b"\x10" else "ignore")
        testing.check_script_laws("tracescript 1\n" + text if choice < b"\x50" else text)
    elif choice <= b"\xaa":
        try:
            decoded = io.BytesIO()
            decode_file(io.BytesIO(b"tracescript 1\n" + data), decoded)
        except TraceScriptError:
            return
        round_trip(decoded.getvalue())
    else:
        round_trip(data)


def round_trip(log: bytes) -> None:
    encoded, decoded = io.BytesIO(), io.BytesIO()
    try:
        encode_file(io.BytesIO(log), encoded)
    except TraceScriptError:
        return
    decode_file(io.BytesIO(encoded.getvalue()), decoded)
    assert decoded.getvalue() == log, "decode_file gives back the bytes"


if __name__ == "__main__":
    loads(dumps(loads("tracescript 1\n")))
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
