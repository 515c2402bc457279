"""Published facts: small CSV files under `data/`, each row with unit, kind, source and locator."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(__file__).resolve().parents[2] / "data"

KINDS = ("published", "derived", "assumed")
SEEN = ("first-hand", "quoted", "second-hand")
NUMBERS = ("value", "low", "high", "count", "printed_percent", "weights", "master", "moments", "gradients")

# Seconds and bytes in one unit. Decimal and binary sizes are different units: TB is 10¹² B, TiB is 2⁴⁰ B.
UNITS = {
    "1": 1.0, "%": 0.01,
    "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "yr": 365.25 * 86400.0,
    "1/d": 1 / 86400.0, "1/1000 d": 1 / 86400e3,
    "B": 1.0, "GB": 1e9, "TB": 1e12, "GiB": 2.0**30, "TiB": 2.0**40, "GB/s": 1e9, "TB/s": 1e12,
}  # fmt: skip


def table(name):
    """The rows of `data/<name>.csv` as a DataFrame.

    Raises a `ValueError` that names file and line if a row lacks unit, kind, source or locator, if its unit,
    kind or `seen` (how surely the figure was seen) is not one the book knows, if a column of `NUMBERS` holds
    no finite number, or if a key stands twice.
    """
    path = DATA / f"{name}.csv"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in DATA.glob("*.csv"))) or "none: run from a clone of the book"
        raise ValueError(f"no table {name!r} in the book's data folder; there are: {known}")
    try:
        rows = pd.read_csv(path, dtype={"unit": str}, skip_blank_lines=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{path.name}: {str(error).strip()}") from None
    allowed = {"unit": UNITS, "kind": KINDS, "seen": SEEN, "source": None, "locator": None}
    allowed |= {"key": None} if "key" in rows else {}
    for column, values in allowed.items():
        if column not in rows:
            raise ValueError(f"{path.name}: no column {column!r}")
        for line, entry in enumerate(rows[column], start=2):
            if pd.isna(entry) or not str(entry).strip() or (values is not None and entry not in values):
                accepted = "a non-empty text" if values is None else "one of " + ", ".join(values)
                raise ValueError(f"{path.name}, line {line}: {column} = {entry!r}: give {accepted}")
    for column in rows.columns.intersection(NUMBERS):
        finite = np.isfinite(pd.to_numeric(rows[column], errors="coerce"))
        for line, entry in enumerate(rows[column], start=2):
            if not finite[line - 2]:
                raise ValueError(f"{path.name}, line {line}: {column} = {entry!r}: give a finite number")
    if "key" in rows and not rows["key"].is_unique:
        line = int(rows["key"].duplicated().to_numpy().argmax()) + 2
        raise ValueError(f"{path.name}, line {line}: key = {rows['key'][line - 2]!r} stands twice: give a new key")
    return rows


@cache
def _facts():
    rows = table("facts")
    return dict(zip(rows["key"], rows["value"] * rows["unit"].map(UNITS)))


def fact(key):
    """The value of one row of `data/facts.csv` in seconds, bytes, bytes per second or as a plain number.

    Raises a `ValueError` for an unknown key.
    """
    facts = _facts()
    if key not in facts:
        raise ValueError(f"no fact {key!r}; there are: {', '.join(facts)}")
    return float(facts[key])


def bytes_per_parameter(key):
    """Bytes of state per parameter in one layout of `data/bytes_per_parameter.csv`."""
    rows = table("bytes_per_parameter").set_index("key")
    if key not in rows.index:
        raise ValueError(f"no layout {key!r}; there are: {', '.join(rows.index)}")
    return float(rows.loc[key, ["weights", "master", "moments", "gradients"]].sum())
