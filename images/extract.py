"""Write the README's picture: the stored output of one figure of a chapter, byte for byte."""

from base64 import b64decode
from pathlib import Path

import nbformat

HERE = Path(__file__).resolve().parent


def stored_png(notebook, figure):
    """The PNG bytes that the notebook stores for the cell whose figure has this name."""
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == figure:
            return next(b64decode(o.data["image/png"]) for o in cell.outputs if "image/png" in o.get("data", {}))
    raise ValueError(f"figure = {figure!r}: no cell of {notebook} has this figure name")


if __name__ == "__main__":
    picture = stored_png(HERE.parent / "chapters" / "optimum.ipynb", "fig-loss")
    (HERE / "loss_against_interval.png").write_bytes(picture)
