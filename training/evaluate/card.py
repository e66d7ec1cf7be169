"""Where a run takes place: card, driver, versions. Stands in front of the results."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from training.evaluate.results import Run

PACKAGES = ("apache-tvm", "apache-tvm-ffi", "torch", "xgboost-cpu", "cuda-bindings", "tracescript")


def run_facts(device: str, command: str, facts: dict[str, Any] | None = None) -> Run:
    """Describe a run that begins now on a device, `cpu` or `cuda`, or on `none`.

    The process that asks does not touch the GPU: a fork of it could not use it any more.
    """
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    card, driver = _gpu() if device == "cuda" else (processor(), "")
    versions = {"python": sys.version.split()[0], **_versions()}
    if driver:
        versions["driver"] = driver
    return Run(now, command, card, versions, facts or {})


def command_of(program: str, arguments: Sequence[str] | None = None) -> str:
    """Return the command line that runs a module, by default with the arguments of this process."""
    said = sys.argv[1:] if arguments is None else arguments
    return shlex.join(["python", "-m", program, *said])


def processor() -> str:
    """The model name of this machine's processor and its number of cores."""
    cores = os.cpu_count()
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.is_file() else ():
        if line.startswith("model name"):
            return f"{line.split(':', 1)[1].strip()}, {cores} cores"
    return f"unknown processor, {cores} cores"


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _gpu() -> tuple[str, str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "unknown GPU", ""
    asked = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    name, _, driver = said.stdout.strip().splitlines()[0].partition(", ")
    return name, driver
