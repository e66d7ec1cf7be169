"""Find the grammar: in the installed package, or in the checkout that it is developed in."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["grammar_text"]


@lru_cache(maxsize=1)
def grammar_text() -> str:
    """The text of `grammar/tracescript.lark`, the definition of the language.

    It feeds lark, llguidance and xgrammar as it is; its start rule is `start`.

    >>> "start: HEADER" in grammar_text()
    True
    """
    # Imported late: they take longer to load than the rest of the codec.
    from importlib.resources import files
    from pathlib import Path

    packaged = files("tracescript") / "grammar" / "tracescript.lark"
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    # A wheel carries the file inside the package; an editable install does not.
    return (Path(__file__).parents[2] / "grammar" / "tracescript.lark").read_text(encoding="utf-8")
