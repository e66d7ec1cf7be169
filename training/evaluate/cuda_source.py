"""Compile the CUDA kernels of a module without a GPU."""

from __future__ import annotations

import re
from typing import Any

import tvm
from cuda.bindings import nvrtc
from tvm.target import Target

_TYPES = """
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
#define INFINITY __int_as_float(0x7f800000)
"""
"""What kernels of floats and integers need of the headers of TVM, which take a second to read."""

_HEADERS = re.compile(r"#ifdef __CUDACC_RTC__.*?#include <cuda.h>\n#endif\n", re.DOTALL)


def compile_kernels(module: tvm.IRModule, target: Target) -> int:
    """Compile a scheduled module for a target; how many bytes the device code has.

    Raises:
        RuntimeError: NVRTC refuses the source; its first error is in the text.
        Exception: TVM cannot make a kernel of the module.
    """
    (kernels,) = tvm.compile(module, target=target).mod.imports
    source = _TYPES + _HEADERS.sub("", kernels.inspect_source(), count=1)
    architecture = str(target.attrs["arch"])
    return _cubin(source, architecture)


def _cubin(source: str, architecture: str) -> int:
    program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, None, None))
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(_first_error(program))
        return int(_checked(nvrtc.nvrtcGetCUBINSize(program)))
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _first_error(program: Any) -> str:
    log = b" " * _checked(nvrtc.nvrtcGetProgramLogSize(program))
    nvrtc.nvrtcGetProgramLog(program, log)
    errors = [line for line in log.decode().splitlines() if "error" in line]
    return errors[0] if errors else "NVRTC fails without an error"


def _checked(result: tuple[Any, ...]) -> Any:
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC: {status}")
    return values[0]
