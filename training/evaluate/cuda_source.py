"""Compile the CUDA source that TVM writes with NVRTC, from few headers and without a GPU.

The source that TVM 0.27 writes begins with `<cuda/std/cstdint>` and `<cuda/std/type_traits>`, which
take NVRTC about a second to read; a dozen typedefs say the same. Half precision and tensor cores
need `cuda_fp16.h` and `mma.h`, which cost little. A source that does not compile with the typedefs
is tried again as TVM wrote it, so the verdict does not depend on them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import tvm_ffi
from cuda import pathfinder
from cuda.bindings import nvrtc

_TYPES = """
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
#define INFINITY __int_as_float(0x7f800000)
#define __asm__ asm
#define __volatile__ volatile
"""

_PREAMBLE = re.compile(r"#ifdef __CUDACC_RTC__.*?#include <cuda.h>\n#endif\n", re.DOTALL)


def install(architecture: str) -> None:
    """Let TVM compile CUDA sources by `cubin`, for an architecture such as `sm_90a`.

    NVRTC is loaded here, which from a disk that was not read yet takes many seconds.
    """

    def compile_source(source: str) -> bytes:
        return cubin(source, architecture)

    tvm_ffi.register_global_func("tvm_callback_cuda_compile", compile_source, override=True)
    cubin('extern "C" __global__ void nothing() {}', architecture)


def cubin(source: str, architecture: str) -> bytes:
    """Compile a CUDA source of TVM.

    Raises:
        RuntimeError: NVRTC refuses the source; its first error is in the text.
    """
    try:
        return _cubin(_TYPES + _PREAMBLE.sub("", source, count=1), architecture)
    except RuntimeError as first:
        try:
            return _cubin(source, architecture)
        except RuntimeError as second:
            raise RuntimeError(f"{second}; and from few headers: {first}") from None


def _cubin(source: str, architecture: str) -> bytes:
    program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, None, None))
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", *_includes()]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(_first_error(program))
        binary = b" " * _checked(nvrtc.nvrtcGetCUBINSize(program))
        nvrtc.nvrtcGetCUBIN(program, binary)
        return binary
    finally:
        nvrtc.nvrtcDestroyProgram(program)


@lru_cache
def _includes() -> tuple[bytes, ...]:
    """Where the headers are: of the CUDA runtime, of the library that those include, and around it.

    The package of the runtime's headers lacks those of tensor cores, which a toolkit has.
    """
    runtime, library = map(pathfinder.find_nvidia_header_directory, ("cudart", "cccl"))
    folders = [runtime, library, str(Path(library).parent) if library else None]
    return tuple(f"--include-path={folder}".encode() for folder in folders if folder)


def _first_error(program: Any) -> str:
    log = b" " * _checked(nvrtc.nvrtcGetProgramLogSize(program))
    nvrtc.nvrtcGetProgramLog(program, log)
    errors = [line for line in log.decode(errors="replace").splitlines() if "error" in line]
    return errors[0] if errors else "NVRTC fails without an error"


def _checked(result: tuple[Any, ...]) -> Any:
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC: {status}")
    return values[0]
