"""Where the book lies and what its table of contents says: for the tests of chapters and site."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
_TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))

# Without their endings, in the order of the book. From the table of contents and not from the files that are
# there, so that a missing file or site is a failure and not an empty list of tests.
PAGES = [_TOC["root"], *(entry["file"] for part in _TOC["parts"] for entry in part["chapters"])]
NUMBERED = [entry["file"] for part in _TOC["parts"] if part.get("numbered") for entry in part["chapters"]]
NOTEBOOKS = [page for page in PAGES if (ROOT / f"{page}.ipynb").is_file()]
# Only the numbered parts follow the pattern of a chapter; the front page and the back matter are free of it.
CHAPTERS = [page for page in NUMBERED if page in NOTEBOOKS]
