"""Numbers as a reader wants them: a duration in a human unit, a share in percent, a size in bytes."""

import re
from math import floor, inf, isclose, log10
from numbers import Real

from youngdaly.data import UNITS

_QUANTITY = re.compile(r"[\d.,]+ \S+")  # a number and its unit: never on two lines of a table
TIMES = {unit: UNITS[unit] for unit in ("s", "min", "h", "d", "yr")}
DECIMAL = {"B": 1} | {prefix + "B": 1000.0**power for power, prefix in enumerate("kMGTPE", start=1)}
BINARY = {"B": 1} | {prefix + "iB": 1024.0**power for power, prefix in enumerate("KMGTPE", start=1)}


def _decimals(number, significant):
    return max(0, significant - 1 - floor(log10(number))) if number else 0


def _in_largest(number, units, significant):
    """`number` in the largest of `units` (name → size, ascending) that leaves at least 1 of it once rounded.

    About `significant` digits, never in exponent form, without trailing zeros. Once rounded: 59.99 s reads
    1 min and not 60 s.
    """
    unit, *larger = units
    amount = number / units[unit]
    for candidate in larger:
        shown = round(amount, _decimals(amount, significant)) * units[unit]
        if max(number, shown) < units[candidate]:
            break
        unit, amount = candidate, max(number / units[candidate], 1.0)
    text = f"{amount:,.{_decimals(amount, significant)}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit}"


def _checked(name, number, most=inf, accepted="a finite number, 0 or more"):
    real = isinstance(number, Real) and not isinstance(number, bool)
    if not (real and 0 <= number <= most and number < inf):
        raise ValueError(f"{name} = {number!r}: give {accepted}")


def duration(seconds, significant=2):
    """268.9 → '4.5 min': in the largest unit that leaves at least 1 of it."""
    _checked("seconds", seconds)
    return _in_largest(seconds, TIMES, significant)


def percent(share, decimals=1):
    """0.9221 → '92.2 %'. A share of time above 1 has no meaning and is a `ValueError`."""
    _checked("share", share, most=1, accepted="a share of time, from 0 to 1")
    return f"{100 * share:.{decimals}f} %"


def size(number, binary=False, significant=3):
    """6.48e12 → '6.48 TB', or in binary units '5.89 TiB'."""
    _checked("number", number)
    return _in_largest(number, BINARY if binary else DECIMAL, significant)


def rate(bytes_per_second):
    """2e12 → '2 TB/s'."""
    return f"{size(bytes_per_second)}/s"


def markdown(rows, **columns):
    """What a chapter shows as text: a DataFrame as a table, its index left out, or a sentence as it is."""
    from IPython.display import Markdown  # only chapters need it, and it is slow to import

    if isinstance(rows, str):
        return Markdown(rows)
    unbroken = rows.map(lambda e: e.replace(" ", "\N{NO-BREAK SPACE}") if _QUANTITY.fullmatch(str(e)) else e)
    return Markdown(unbroken.rename(columns=columns).to_markdown(index=False, disable_numparse=True))


def answer(tau, shares):
    """The book's answer in one sentence, from the interval in seconds and a ledger of shares."""
    lost = 1 - shares["useful"]
    losses = {"writing": "writing", "redone": "redone work", "restarts": "restarts"}
    most = max(map(shares.get, losses))
    dominant = [key for key in losses if isclose(shares[key], most)]  # at the first-order best, two of them are equal
    name = " and ".join(map(losses.get, dominant))
    equally, together = (", equally", " together") if len(dominant) > 1 else ("", "")
    return (
        f"Save every {duration(tau)} and {percent(shares['useful'])} of the time is effective training. "
        f"{percent(lost)} is lost: {percent(shares['writing'])} writing, {percent(shares['redone'])} redone "
        f"work, {percent(shares['restarts'])} restarts. "
        f"The largest part of the loss is {name}{equally}: "
        f"{percent(min(1, sum(map(shares.get, dominant)) / lost), 0)} of it{together}."
    )
