"""Numbers as a reader wants them: a duration in a human unit, a share in percent, a size in bytes."""

from math import floor, isfinite, log, log10

from youngdaly.data import UNITS

_TIMES = ("s", "min", "h", "d", "yr")


def _digits(number, significant=3):
    """`number` with about `significant` digits, never in exponent form, without trailing zeros."""
    decimals = max(0, significant - 1 - floor(log10(abs(number)))) if number else 0
    text = f"{number:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _checked(name, number):
    if not (isfinite(number) and number >= 0):
        raise ValueError(f"{name} = {number}: give a finite number, 0 or more")


def duration(seconds, significant=2):
    """268.9 → '4.5 min': in the largest unit that leaves at least 1 of it."""
    _checked("seconds", seconds)
    # The unit is chosen after rounding, so that 59.99 s reads 1 min and not 60 s.
    rounded = float(f"{seconds:.{max(significant, 2)}g}") if seconds else 0.0
    unit = max((u for u in _TIMES if UNITS[u] <= rounded), key=UNITS.get, default="s")
    return f"{_digits(seconds / UNITS[unit], significant)} {unit}"


def percent(share, decimals=1):
    """0.9221 → '92.2 %'. A share of time above 1 has no meaning and is a `ValueError`."""
    if not (isfinite(share) and 0 <= share <= 1):
        raise ValueError(f"share = {share}: a share of time lies between 0 and 1")
    return f"{100 * share:.{decimals}f} %"


def size(number, binary=False, significant=3):
    """6.48e12 → '6.48 TB', or in binary units '5.89 TiB'."""
    _checked("number", number)
    base, suffix = (1024, "iB") if binary else (1000, "B")
    rounded = float(f"{number:.{significant}g}")  # so that 999.9 GB reads 1 TB
    power = min(6, int(log(rounded, base) + 1e-12)) if rounded >= 1 else 0
    prefix = ("", "k", "M", "G", "T", "P", "E")[power]
    prefix = prefix.upper() if binary else prefix
    return f"{_digits(number / base**power, significant)} {prefix + suffix if power else 'B'}"


def markdown(rows, **columns):
    """A DataFrame (its index left out) as a Markdown object that a chapter shows as a table."""
    from IPython.display import Markdown  # only chapters need it, and it is slow to import

    return Markdown(rows.rename(columns=columns).to_markdown(index=False, disable_numparse=True))


def answer(tau, shares):
    """The book's answer in one sentence, from the interval in seconds and a ledger of shares."""
    lost = 1 - shares["useful"]
    dominant = max(("writing", "redone", "restarts"), key=shares.get)
    name = {"redone": "redone work"}.get(dominant, dominant)
    return (
        f"Save every {duration(tau)} and {percent(shares['useful'])} of the time is effective training. "
        f"{percent(lost)} is lost: {percent(shares['writing'])} writing, {percent(shares['redone'])} redone "
        f"work, {percent(shares['restarts'])} restarts. "
        f"The largest part of the loss is {name}: {percent(shares[dominant] / lost, 0)} of it."
    )
