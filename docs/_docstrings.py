"""A Griffe extension: a Python session in a docstring is code on the page, not a quotation."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SESSION = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class FencedSessions(Extension):
    """Puts a fence around each session of each docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of one object, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = _SESSION.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
