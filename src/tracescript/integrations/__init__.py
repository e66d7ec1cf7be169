"""Adapters for libraries that generate text; each module needs the library of its name.

Their law: what an adapter lets through is what `MaskState` lets through.
"""
