"""Find the grammar: in the installed package, or in the checkout that it is developed in."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["grammar_text"]

_FILE = "tracescript.lark"


@lru_cache(maxsize=1)
def grammar_text() -> str:
    """The text of `grammar/tracescript.lark`, the definition of the language.

    It feeds lark, llguidance and xgrammar as it is; its start rule is `start`.

    >>> "start: _HEADER instruction*" in grammar_text()
    True
    """
    # Imported late: it takes longer to load than most of the codec.
    from pathlib import Path

    package = Path(__file__).parent
    # A wheel carries the file inside the package; an editable install does not.
    folders = (package / "grammar", package.parents[1] / "grammar")
    path = next(folder / _FILE for folder in folders if (folder / _FILE).is_file())
    return path.read_text(encoding="utf-8")
