"""The book's pictures. One ledger, four colours, the same order everywhere, restarts at the bottom.

Each function draws one kind of picture and returns the matplotlib figure.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

from youngdaly import formulas
from youngdaly.data import UNITS
from youngdaly.evaluation import value
from youngdaly.text import duration, percent

# High-contrast scheme of Paul Tol for the three losses, safe for colour-blind readers and in grey.
COLOURS = {"useful": "#e4e8ed", "writing": "#004488", "redone": "#ddaa33", "restarts": "#bb5566"}
INK = {"useful": "#1f2328", "writing": "#ffffff", "redone": "#1f2328", "restarts": "#ffffff"}  # text on them
NAMES = {"useful": "useful", "writing": "writing", "redone": "redone work", "restarts": "restarts"}
STACK = ("restarts", "redone", "writing")  # from the bottom: what no interval can touch lies lowest

STYLE = {
    "figure.dpi": 160,
    "figure.figsize": (7.2, 4.0),
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
}
_DAY = UNITS["d"]
_TICKS = np.array([0.01, 0.1, 1, 10, 60, 600, 3600, 6 * 3600, _DAY, 7 * _DAY, 30 * _DAY, 365.25 * _DAY])
_IN_PERCENT = FuncFormatter(lambda share, _: f"{100 * share:.6g} %")
_IN_TIME = FuncFormatter(lambda seconds, _: duration(seconds))


def _time_axis(ax, low, high):
    """A logarithmic time axis with human ticks."""
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.set_xticks(_TICKS[(low <= _TICKS) & (_TICKS <= high)])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(_IN_TIME)


def _rung(height):
    """The next higher of a few fixed tops for the share axis, so that pictures can be compared."""
    return next((top for top in (0.02, 0.05, 0.1, 0.2, 0.5) if height <= top), 1.0)


def loss_against_interval(delta, M, r, tolerated=None):
    """Share of time lost against the interval, split in three, Young's optimum marked.

    delta, M, r : write time, failure interval, restart time in seconds, single numbers.
    tolerated : if given, a bar on the axis marks the intervals that cost at most this share more.
    """
    best, least = value(formulas.YOUNG, delta=delta, M=M), value(formulas.LEAST_LOSS, delta=delta, M=M, r=r)
    low, high = best / 100, best * 100
    tau = np.geomspace(low, high, 400)
    top = _rung(2.2 * least)
    layers = {
        "restarts": np.full_like(tau, value(formulas.RESTARTS, r=r, M=M)),
        "redone": value(formulas.REDONE, tau=tau, M=M),
        "writing": value(formulas.WRITING, delta=delta, tau=tau),
    }
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots()
        ax.stackplot(tau, *layers.values(), colors=[COLOURS[n] for n in layers], edgecolor="white", linewidth=0.6)
        _time_axis(ax, low, high)
        ax.set_ylim(0, top)
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.set(xlabel="checkpoint interval (log scale)", ylabel="share of training time lost")
        ax.vlines(best, 0, least, color=INK["useful"], linewidth=1.2)
        ax.plot(best, least, "o", color="white", markeredgecolor=INK["useful"], markersize=7)
        ax.annotate(
            f"best: {duration(best)}\n{percent(least)} lost" if least < 1 else f"best: {duration(best)}",
            (best, least), (0, 10), textcoords="offset points", ha="center", va="bottom",
        )  # fmt: skip
        ax.text(best / 30, top / 2, NAMES["writing"], color=INK["writing"], ha="center", va="center")
        ax.text(best * 30, top / 2, NAMES["redone"], color=INK["redone"], ha="center", va="center")
        floor = layers["restarts"][0]
        if floor > 0.06 * top:
            ax.text(best / 30, floor / 2, NAMES["restarts"], color=INK["restarts"], ha="center", va="center")
        if tolerated is not None:
            ends = [value(e, x=tolerated, delta=delta, M=M, r=r) for e in (formulas.SHORTEST, formulas.LONGEST)]
            ax.plot(ends, [0, 0], color=INK["useful"], linewidth=7, solid_capstyle="butt", clip_on=False)
    plt.close(figure)
    return figure


def between_failures(delta, tau, M, r):
    """The time from one failure to the next, drawn to scale: saves as ticks, the lost half interval, the restart.

    All arguments in seconds, single numbers. The failure is drawn in the middle of an interval, where it
    strikes on average.
    """
    saves = np.arange(tau, M, tau + delta)
    saves = saves[saves + delta <= M - tau / 2]  # what was saved is not redone
    spans = {"useful": (0, M), "redone": (M - tau / 2, tau / 2), "restarts": (M, r)}
    step = _TICKS[_TICKS <= (M + r) / 3].max(initial=_TICKS[0])
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 1.6)}):
        figure, ax = plt.subplots()
        for name, span in spans.items():
            ax.broken_barh([span], (0, 1), color=COLOURS[name], linewidth=0)
        # The face is to scale; the edge keeps a save visible that is thinner than a dot of the picture.
        ax.bar(saves, 1, delta, align="edge", color=COLOURS["writing"], edgecolor=COLOURS["writing"], linewidth=0.7, snap=False)
        ax.annotate("failure", (M, 1), (M, 1.3), ha="center", arrowprops={"arrowstyle": "-"})
        ax.set(xlim=(0, M + r), ylim=(0, 1.5), yticks=[], xlabel="time since training last began to run")
        ax.set_xticks(np.arange(0, M + r, step))
        ax.xaxis.set_major_formatter(_IN_TIME)
        ax.spines["left"].set_visible(False)
    plt.close(figure)
    return figure


def splits(ledgers, zoom=True):
    """Ledgers side by side: one horizontal bar each, the three losses in the book's order.

    ledgers : dict from a label to a ledger (dict with useful, writing, redone, restarts).
    zoom : draw the losses only; otherwise the bars run to 100 %.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 0.9 + 0.45 * len(ledgers))}):
        figure, ax = plt.subplots()
        start = np.zeros(len(ledgers))
        for name in STACK if zoom else (*STACK, "useful"):
            widths = np.array([ledger[name] for ledger in ledgers.values()])
            ax.barh(list(ledgers), widths, left=start, color=COLOURS[name], label=NAMES[name], edgecolor="white")
            start += widths
        for row, end in enumerate(start if zoom else []):
            ax.annotate(percent(end), (end, row), (4, 0), textcoords="offset points", va="center")
        ax.invert_yaxis()
        ax.set_xlim(0, max(start) * 1.12 if zoom else 1)
        ax.xaxis.set_major_formatter(_IN_PERCENT)
        ax.set_xlabel("share of training time" + (" lost" if zoom else ""))
        ax.tick_params(axis="y", length=0)
        figure.legend(loc="outside upper left", ncols=4, frameon=False)
    plt.close(figure)
    return figure


def flat_bottom(tolerated):
    """Extra optimisable loss against the factor by which an interval misses the best one.

    tolerated : a share, for example 0.1; the factors that stay within it are marked.
    """
    factor = np.geomspace(0.1, 10, 400)
    widest = value(formulas.FLAT, L=tolerated)
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.2)}):
        figure, ax = plt.subplots()
        ax.axvspan(1 / widest, widest, color=COLOURS["useful"])
        ax.plot(factor, value(formulas.MISS, k=factor), color=INK["useful"])
        ax.set_xscale("log")
        ax.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10], ["0.1", "0.2", "0.5", "1", "2", "5", "10"])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set(xlim=(0.1, 10), ylim=(0, 2), xlabel="interval, as a multiple of the best one (log scale)")
        ax.set_ylabel("extra writing and redone work")
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.text(1, 1.9, f"within {percent(tolerated, 0)}", ha="center", va="top")
    plt.close(figure)
    return figure
