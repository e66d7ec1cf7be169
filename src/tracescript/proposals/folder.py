"""Where a model is: a folder that is named, or the package of the shipped one."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tracescript.errors import ModelError

__all__ = ["FILES", "model_folder"]

FILES = ("config.json", "model.safetensors", "tokenizer.json")
"""What a folder of a model holds: two files of transformers, and what `Tokenizer.save` writes."""

_PACKAGE = "tracescript_model"


def model_folder(named: str | None = None) -> Path:
    """The folder of a model.

    Args:
        named: the folder; None is that of the package `tracescript_model`, if it is installed.

    Raises:
        ModelError: there is none, or a file is missing in it.
    """
    if named is None and find_spec(_PACKAGE) is None:
        expected = f"a folder, or the package {_PACKAGE} (pip install ./training/weights)"
        raise ModelError("the model", expected, "neither")
    folder = Path(import_module(_PACKAGE).FOLDER if named is None else named)
    if not folder.is_dir():
        raise ModelError(str(folder), "a folder of a model", "none")
    for name in FILES:
        if not (folder / name).is_file():
            raise ModelError(str(folder), f"the files {', '.join(FILES)}", f"no {name}")
    return folder
