"""Which releases of TVM can have recorded a log: what its readme and its own era say."""

from tracescript.instructions import RELEASES

_ERAS = {
    # Logs of 2023 and 2024; nothing in them tells the releases of a range apart.
    "web-stable-diffusion": ("0.11", "0.16"),
    "web-llm": ("0.11", "0.16"),
    "mlc-llm": ("0.11", "0.16"),
    "x86-layout-rewrite": ("0.12", "0.16"),
}


def releases_of(path):
    """The releases whose table every trace of the log has to fit."""
    for name, (first, last) in _ERAS.items():
        if path.name.startswith(name):
            return RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1]
    return ("0.27",)
