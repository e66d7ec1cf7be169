"""Doctests of modules are collected where what they import is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("cuda") else ["evaluate/cuda_source.py"]
