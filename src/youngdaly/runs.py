"""Published runs (`data/published_runs.csv`): what the theory predicts for each, as a band over its inputs.

Every input of a run has two ends: as far apart as what was printed, or what had to be assumed, leaves them.
"""

import numpy as np
import pandas as pd

from youngdaly import formulas
from youngdaly.data import UNITS, fact, table
from youngdaly.evaluation import value
from youngdaly.text import TIMES, duration

INPUTS = ("tau", "delta", "M", "r")


def ends(run):
    """What is known of a run: a dict from each quantity of its rows to its two ends, in seconds or as numbers.

    Raises a `ValueError` for an unknown run.
    """
    rows = table("published_runs")
    if run not in set(rows["run"]):
        raise ValueError(f"run = {run!r}: choose one of {'; '.join(rows['run'].unique())}")
    rows = rows[rows["run"] == run]
    units = rows["unit"].map(UNITS)
    return dict(zip(rows["quantity"], zip(rows["low"] * units, rows["high"] * units)))


_WORDS = {
    "N": "devices", "window": "window", "failures": "stops", "rate": "stops per 1,000 node-days", "useful": "work",
    "tau": "interval", "delta": "write", "r": "restart",
}  # fmt: skip


def _words(row):
    """One input of a run as a reader wants it, with a dagger unless the source itself was seen."""
    low, high = (
        duration(end * UNITS[row["unit"]], 3) if row["unit"] in TIMES else f"{end:,g}" for end in (row["low"], row["high"])
    )
    shortest = low.split()[0] if low.split()[1:] == high.split()[1:] else low  # 5 to 20 min
    either = low if low == high else f"{shortest} to {high}"
    return f"{_WORDS[row['quantity']]} {either}" + ("" if row["seen"] == "first-hand" else " †")


def stated_and_assumed():
    """What each run's report states and what had to be assumed: a DataFrame with the columns run, stated, assumed.

    A dagger marks a figure that was not seen in its source.
    """
    rows = table("published_runs")
    rows = rows[rows["quantity"] != "effective"]
    words = rows.assign(words=rows.apply(_words, axis=1), where=np.where(rows["kind"] == "assumed", "assumed", "stated"))
    joined = words.groupby(["run", "where"], sort=False)["words"].agg("; ".join).unstack().fillna("")
    return joined.loc[rows["run"].unique(), ["stated", "assumed"]].reset_index()


def _quotient(above, below):
    return above[0] / below[1], above[1] / below[0]


def published(run):
    """The two ends of the published effective time: as printed, or useful time over the run's window."""
    known = ends(run)
    return known["effective"] if "effective" in known else _quotient(known["useful"], known["window"])


def inputs(run):
    """The inputs of a run that are known: a dict with some of tau, delta, M, r, each with its two ends in seconds.

    The failure interval is the window over the failures seen in it, or follows from the rate of failures per
    node and the number of devices.
    """
    known = ends(run)
    if "failures" in known:
        known["M"] = _quotient(known["window"], known["failures"])
    elif "rate" in known:
        device = _quotient((fact("devices_per_node"),) * 2, known["rate"])
        known["M"] = tuple(float(value(formulas.FAILURE_INTERVAL, m=m, N=N)) for m, N in zip(device, known["N"][::-1]))
    return {name: known[name] for name in INPUTS if name in known}


def in_percent(share):
    """A share or a band of shares in whole percents, no finer than anything about these runs is known."""
    low, high = (100 * end for end in (share if isinstance(share, tuple) else (share, share)))
    if high - low < 2:
        return f"{(low + high) / 2:.0f} %"
    return f"{low:.0f} to {high:.0f} %" if high < 100 else f"over {low:.0f} %"


def predicted(exact=True, **inputs):
    """The effective time between the worst and the best end of every input.

    Parameters
    ----------
    exact : by the exact theory of failures at random, else to first order.
    delta, M, r : (low, high) each, in seconds.
    tau : (low, high) in seconds. Left out, the run is taken to save at the best interval, whatever the other inputs.

    Returns
    -------
    (low, high): shares of elapsed time. To first order, low may fall below 0: there the theory means nothing.

    Raises
    ------
    ValueError for a missing or unknown input, and for ends that are not greater than 0.
    """
    wrong = sorted({"delta", "M", "r"} - set(inputs)) + sorted(set(inputs) - set(INPUTS))
    if wrong:
        raise ValueError(f"inputs {', '.join(inputs) or 'none'}: give delta, M and r, and tau if known")
    best = formulas.EXACT_BEST if exact else formulas.YOUNG
    effective = formulas.EXACT_EFFECTIVE if exact else formulas.EFFECTIVE

    def at(delta, M, r, wanted):
        """The effective time at the interval that `wanted` picks, of those that are possible."""
        tau = value(best, delta=delta, M=M)
        if "tau" in inputs:
            tau = np.array([*inputs["tau"], np.clip(tau, *inputs["tau"])])
        return float(wanted(value(effective, tau=tau, delta=delta, M=M, r=r)))

    # Longer writes and restarts and more failures all lower the effective time; the interval alone has an optimum.
    (short, long), (rough, calm), (quick, slow) = (inputs[name] for name in ("delta", "M", "r"))
    return at(long, rough, slow, np.min), at(short, calm, quick, np.max)


def overlap(one, other):
    """Whether two bands have a value in common."""
    return one[0] <= other[1] and other[0] <= one[1]


def compared(narrow=0.15):
    """Every run whose inputs allow a prediction, beside its published value: a DataFrame.

    Columns: run; exact, first, printed (the three bands); published, predicted (as text, with a dagger where the
    published value was not seen in its source); within ("yes" where the exact band holds the published value);
    band ("narrow" if narrower than `narrow`, else "wide").
    """
    rows = table("published_runs")
    quoted = set(rows.loc[rows["quantity"].eq("effective") & rows["seen"].ne("first-hand"), "run"])
    found = []
    for run in rows["run"].unique():
        known, printed = inputs(run), published(run)
        if "M" not in known:
            continue
        exact, first = predicted(**known), predicted(exact=False, **known)
        within = "yes" if overlap(exact, printed) else "no"
        band = "narrow" if exact[1] - exact[0] < narrow else "wide"
        text = in_percent(printed) + " †" * (run in quoted)
        found.append((run, exact, first, printed, text, in_percent(exact), within, band))
    names = ["run", "exact", "first", "printed", "published", "predicted", "within", "band"]
    return pd.DataFrame(found, columns=names)
