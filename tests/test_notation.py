"""The page of letters says what the code says."""

import re

import sympy as sp

from book import ROOT
from youngdaly.formulas import QUANTITIES

ROWS = re.findall(r"^\| \$(.+?)\$ \| (.+?) \| (.+?) \| `(.+?)` \|$", (ROOT / "chapters/notation.md").read_text("utf-8"), re.M)


def test_every_letter_is_explained_as_in_the_code():
    on_page = {name: (latex, meaning, unit) for latex, meaning, unit, name in ROWS}
    in_code = {name: (sp.latex(sp.Symbol(name)), q.meaning, q.unit) for name, q in QUANTITIES.items()}
    assert on_page == in_code


def test_no_letter_is_explained_twice():
    assert len(ROWS) == len({latex for latex, *_ in ROWS})
