"""Find the grammars: in the installed package, or in the checkout that it is developed in."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["grammar_text", "read_grammar"]

_OPEN = "tracescript.lark"


@lru_cache
def grammar_text(*, tvm: str | None = None) -> str:
    """The text of a grammar; it feeds lark, llguidance and xgrammar as it is.

    Without a release it is the open grammar, `grammar/tracescript.lark`, the definition of
    the language. With one it is the strict grammar of that release: its kinds, the types of
    their inputs and attributes, their outputs and decisions. Each script that fits a strict
    grammar fits the open one. The start rule is `start`.

    Args:
        tvm: a release of TVM, such as "0.27"; None for the open grammar.

    Raises:
        ValueError: there is no strict grammar for the release.

    >>> "start: _HEADER instruction*" in grammar_text()
    True
    >>> "get_sblock" in grammar_text(tvm="0.27")
    True
    """
    if tvm is None:
        return read_grammar(_OPEN)
    # Imported late: it takes longer to load than most of the codec.
    from tracescript.instructions import kinds

    # It says what is wrong with a release that it does not know.
    kinds(tvm)
    return read_grammar(f"strict/tvm-{tvm}.lark")


def read_grammar(name: str) -> str:
    """The text of a file of the folder `grammar`."""
    # Imported late, likewise.
    from pathlib import Path

    package = Path(__file__).parent
    # A wheel carries the files inside the package; an editable install does not.
    folders = (package / "grammar", package.parents[1] / "grammar")
    path = next(folder / name for folder in folders if (folder / name).is_file())
    return path.read_text(encoding="utf-8")
