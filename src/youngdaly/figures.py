"""The book's pictures. One ledger, four colours, the same order everywhere, restarts at the bottom.

Each function draws one kind of picture and returns the matplotlib figure.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from youngdaly import formulas
from youngdaly.data import UNITS
from youngdaly.evaluation import checked, value
from youngdaly.spares import spares_needed
from youngdaly.text import duration, percent

# High-contrast scheme of Paul Tol for the three losses, safe for colour-blind readers and in grey.
COLOURS = {"useful": "#e4e8ed", "writing": "#004488", "redone": "#ddaa33", "restarts": "#bb5566"}
INK = {"useful": "#1f2328", "writing": "#ffffff", "redone": "#1f2328", "restarts": "#ffffff"}  # text on them
NAMES = {"useful": "useful", "writing": "writing", "redone": "redone work", "restarts": "restarts"}
STACK = ("restarts", "redone", "writing")  # from the bottom: what no interval can touch lies lowest
RUNGS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # tops of the share axis

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
    return next((top for top in RUNGS if height <= top), 1.0)


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

    All arguments in seconds, single numbers. The failure is drawn in the middle of an interval, where it strikes
    on average, namely of the one whose middle comes closest to M.
    """
    delta, tau, M, r = (float(checked(n, v)) for n, v in {"delta": delta, "tau": tau, "M": M, "r": r}.items())
    saves = tau + (tau + delta) * np.arange(max(0, round((M - tau / 2) / (tau + delta))))
    last = saves[-1] + delta if saves.size else 0.0
    M = last + tau / 2
    spans = {"useful": (0, last), "redone": (last, tau / 2), "restarts": (M, r)}
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


def exact_against_first_order(delta, r):
    """The least loss against the failure interval, from rare failures to frequent ones, to first order and exact.

    delta, r : write time and restart time in seconds, single numbers.
    """
    longest = 1e4 * max(r, delta)
    M = np.geomspace(longest, max(r, delta) / 10, 400)
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots()
        ax.axhline(1, color=INK["useful"], linewidth=0.8)
        ax.plot(M, value(formulas.LEAST_LOSS, delta=delta, M=M, r=r), "--", color=INK["useful"], label="first order")
        ax.plot(M, value(formulas.EXACT_LEAST_LOSS, delta=delta, M=M, r=r), color=COLOURS["writing"], label="exact")
        _time_axis(ax, M[-1], longest)
        ax.invert_xaxis()
        ax.set_ylim(0, 1.5)
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.set(xlabel="failure interval (log scale): failures more frequent to the right", ylabel="least loss")
        ax.legend(frameon=False, loc="upper left")
    plt.close(figure)
    return figure


def replay_against_theory(delta, M, r, tau, losses):
    """The exact loss against the interval as a curve, and replayed losses as marks.

    delta, M, r : write time, failure interval, restart time in seconds, single numbers.
    tau : the replayed intervals in seconds.
    losses : dict from a label to the replayed losses at these intervals; the first is drawn as dots, the next as crosses.
    """
    line = np.geomspace(min(tau), max(tau), 300)
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots()
        exact = value(formulas.EXACT_LOSS, tau=line, delta=delta, M=M, r=r)
        ax.plot(line, exact, color=COLOURS["writing"], label="exact, exponential failures")
        for (label, numbers), mark, colour in zip(losses.items(), "ox", (INK["useful"], COLOURS["restarts"])):
            ax.plot(tau, numbers, mark, color=colour, label=label)
        _time_axis(ax, min(tau) * 0.9, max(tau) * 1.1)
        ax.set_ylim(0, _rung(1.05 * max(exact)))
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.set(xlabel="checkpoint interval (log scale)", ylabel="share of training time lost")
        ax.legend(frameon=False, loc="upper center")
    plt.close(figure)
    return figure


def regret_map(delta, r, maps):
    """For each rule a map of what its interval loses against the exact best one.

    delta, r : write time and restart time in units of the failure interval, 2-D grids.
    maps : dict from a rule's name to points of training time, NaN where the rule has no answer (hatched).
    """
    rows = -(-len(maps) // 4)
    levels = [0, 0.01, 0.1, 1, 10, 100]
    shades = ["#ffffff", "#f1e3c0", COLOURS["redone"], "#b0713f", "#5c2230"]
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 2.1 * rows + 0.8)}):
        figure, axes = plt.subplots(rows, 4, sharex=True, sharey=True, squeeze=False)
        for ax, (name, points) in zip(axes.flat, maps.items()):
            ax.set_facecolor("white")
            ax.patch.set(hatch="////", edgecolor="#9aa3ad")
            shown = ax.contourf(delta, r, np.maximum(points, 0), levels, colors=shades)
            ax.set(xscale="log", yscale="log", title=name)
            ax.title.set_fontsize(8)
            if np.nanmax(points) < levels[1]:
                ax.text(0.5, 0.5, f"below {levels[1]:g}\neverywhere", transform=ax.transAxes, ha="center", fontsize=8)
        for ax in axes.flat[len(maps) :]:
            ax.axis("off")
        for ax in axes[-1]:
            ax.set_xlabel("write / failure interval", fontsize=8)
        figure.supylabel("restart time / failure interval", fontsize=9)
        bar = figure.colorbar(shown, ax=axes, orientation="horizontal", aspect=50, fraction=0.04)
        bar.set_label("points lost against the exact best interval", fontsize=9)
        bar.set_ticks(levels, labels=[f"{level:g}" for level in levels])
    plt.close(figure)
    return figure


def write_time_against_writers(S, writer, storage, marked):
    """The time to write a checkpoint against the number of writers, both axes logarithmic.

    S : state in bytes; writer, storage : bandwidth of one writer and of the storage as a whole, bytes per second.
    marked : a number of writers to mark.
    """
    writers = np.geomspace(1, 100 * value(formulas.ENOUGH_WRITERS, B=storage, B_1=writer), 300)
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.4)}):
        figure, ax = plt.subplots()
        ax.plot(writers, value(formulas.SHARDED_TIME, S=S, K=writers, B_1=writer, B=storage), color=COLOURS["writing"])
        here = value(formulas.SHARDED_TIME, S=S, K=marked, B_1=writer, B=storage)
        ax.plot(marked, here, "o", color="white", markeredgecolor=INK["useful"], markersize=7)
        ax.annotate(duration(here), (marked, here), (0, 8), textcoords="offset points", ha="center")
        ax.set(xscale="log", yscale="log", xlabel="writers (log scale)", ylabel="write time (log scale)")
        low, high = ax.get_ylim()
        ax.set_yticks(_TICKS[(low <= _TICKS) & (_TICKS <= high)])
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(_IN_TIME)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    plt.close(figure)
    return figure


def effective_against_interval(tau, lines, marks, kink):
    """Effective time against the interval: formulas as lines, replays as marks, and the interval at which they part.

    tau : intervals in seconds; lines, marks : dicts from a label to effective shares at these intervals.
    kink : the interval to mark, in seconds.
    """
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots()
        for (label, shares), style in zip(lines.items(), ("--", "-")):
            ax.plot(tau, shares, style, color=INK["useful"], label=label, linewidth=1.2)
        for (label, shares), mark, colour in zip(marks.items(), "ox", (COLOURS["writing"], COLOURS["restarts"])):
            ax.plot(tau, shares, mark, color=colour, label=label, markersize=5)
        ax.axvline(kink, color=INK["useful"], linewidth=0.8, linestyle=":")
        ax.annotate("interval = drain", (kink, 0.5), (5, 0), textcoords="offset points")
        _time_axis(ax, min(tau), max(tau))
        ax.set_ylim(0, 1)
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.set(xlabel="checkpoint interval (log scale)", ylabel="effective time")
        ax.legend(frameon=False, loc="lower right")
    plt.close(figure)
    return figure


def loss_of_copies(failed, chances):
    """The chance that a state is lost with all its copies, against the number of nodes that fail together.

    failed : numbers of nodes; chances : dict from a label to the chances at these numbers.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.4)}):
        figure, ax = plt.subplots()
        colours = (COLOURS["writing"], COLOURS["redone"], COLOURS["restarts"], INK["useful"])
        for (label, numbers), colour, mark in zip(chances.items(), colours, "osx^"):
            ax.plot(failed, numbers, marker=mark, markersize=4, color=colour, label=label)
        ax.set(xscale="log", ylim=(0, 1), xlabel="nodes that fail together (log scale)", ylabel="chance that a state is lost")
        ax.set_xticks(failed, [f"{count:g}" for count in failed])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.legend(frameon=False, loc="upper left")
    plt.close(figure)
    return figure


def losses_against_share(shares, ledgers):
    """Stacked losses against the share of failures that memory recovers.

    shares : the shares, ascending; ledgers : for each a ledger (dict with writing, redone, restarts).
    """
    layers = {name: [ledger[name] for ledger in ledgers] for name in STACK}
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.4)}):
        figure, ax = plt.subplots()
        ax.stackplot(shares, *layers.values(), colors=[COLOURS[n] for n in layers], edgecolor="white", linewidth=0.6)
        for name, base in zip(layers, np.cumsum([[0] * len(shares), *list(layers.values())[:-1]], axis=0)):
            ax.annotate(
                NAMES[name], (shares[0], base[0] + layers[name][0] / 2), (6, 0),
                textcoords="offset points", va="center", color=INK[name],
            )  # fmt: skip
        ax.set(xlim=(shares[0], shares[-1]), xlabel="share of failures that memory recovers", ylabel="share of time lost")
        ax.xaxis.set_major_formatter(_IN_PERCENT)
        ax.yaxis.set_major_formatter(_IN_PERCENT)
    plt.close(figure)
    return figure


def effective_region(r, tau, effective, targets):
    """Which restarts and intervals give an effective time, as bands in the plane of the two.

    r, tau : 2-D grids in units of the failure interval; effective : shares on them.
    targets : dict from a label to the lowest and the highest share of its band.
    """
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots()
        for (label, (low, high)), name in zip(targets.items(), ("restarts", "writing")):
            ax.contourf(r, tau, effective, [low, high], colors=[COLOURS[name]])
            ax.plot([], [], color=COLOURS[name], linewidth=7, label=label)
        ax.set(xscale="log", yscale="log", xlabel="restart time / failure interval (log scale)")
        ax.set_ylabel("checkpoint interval / failure interval (log scale)")
        ax.legend(frameon=False, loc="lower left")
    plt.close(figure)
    return figure


def moments_of_failure(processes, span, rng):
    """When failures strike, one row of strokes for each process, over the same span of time.

    processes : dict from a label to a process of `youngdaly.processes`; span in seconds; rng a generator.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 0.8 + 0.4 * len(processes))}):
        figure, ax = plt.subplots()
        for row, process in enumerate(processes.values()):
            moments = np.cumsum(process.draw(rng, int(10 * span / process.mean)))
            ax.vlines(moments[moments < span], row - 0.35, row + 0.35, color=COLOURS["restarts"], linewidth=0.8)
        ax.set_yticks(range(len(processes)), processes)
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(0, span), xlabel="time")
        ax.set_xticks(np.arange(0, span * 1.001, span / 6))
        ax.xaxis.set_major_formatter(_IN_TIME)
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
    widest = value(formulas.FLAT, x=tolerated)
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


_STEPS = {"s": (1, 2, 5, 10, 30), "min": (1, 2, 5, 10, 30), "h": (1, 2, 6, 12), "d": (1, 2, 5, 10, 20, 50, 100), "yr": (1, 2, 5)}


def _plain_time_axis(ax, longest):
    """A linear time axis from 0 with a few human ticks."""
    steps = [count * UNITS[unit] for unit, counts in _STEPS.items() for count in counts]
    step = next((step for step in steps if step >= longest / 6), longest)
    ax.set_xlim(0, longest)
    ax.set_xticks(np.arange(0, longest * 1.001, step))
    ax.xaxis.set_major_formatter(_IN_TIME)


def failures_over_time(gaps, unfinished=0.0):
    """Failures counted over the running time, beside the straight line of a constant rate.

    gaps, unfinished : running times before each failure and after the last, in seconds.
    """
    times = np.cumsum(gaps)
    running = times[-1] + unfinished
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.2)}):
        figure, ax = plt.subplots()
        ax.plot([0, running], [0, len(gaps)], color=COLOURS["redone"], label="constant rate")
        counts = np.r_[0 : len(gaps) + 1, len(gaps)]
        ax.step(np.r_[0, times, running], counts, where="post", color=INK["useful"], label="this log")
        _plain_time_axis(ax, running)
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.set(ylim=(0, None), xlabel="time the job has run", ylabel="failures so far")
        ax.legend(frameon=False, loc="upper left")
    plt.close(figure)
    return figure


def gaps_that_last(times, shares, M):
    """Share of the gaps that last longer than a given time, beside the curve of failures at random.

    On this axis that curve, the exponential, is a straight line.
    times, shares : arrays, from `youngdaly.failures.survival`; M : the failure interval; in seconds.
    """
    longest, lowest = 1.05 * times[-1], 0.5 * min(shares[shares > 0])
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.2)}):
        figure, ax = plt.subplots()
        random = np.linspace(0, longest, 200)
        ax.plot(random, np.exp(-random / M), color=COLOURS["redone"], label="failures at random")
        ax.step(times, np.maximum(shares, lowest), where="post", color=INK["useful"], label="this log")
        _plain_time_axis(ax, longest)
        ax.set(yscale="log", ylim=(lowest, 1.05), xlabel="time since the failure before")
        ax.set_ylabel("gaps that last longer (log scale)")
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.yaxis.set_minor_locator(NullLocator())
        ax.legend(frameon=False)
    plt.close(figure)
    return figure


LINES = ("#332288", "#117733", "#882255", "#44aa99")  # for several curves in one picture; of Paul Tol, as above
GREY = "#9aa5b1"


def pareto(names, counts, marked):
    """A Pareto chart: counts in falling order, and their running total on the same scale.

    names, counts : as they stand in a table, in any order; marked : whether a bar is dark.
    """
    order = np.argsort(-np.asarray(counts), kind="stable")
    names, counts, marked = (np.asarray(column)[order] for column in (names, counts, marked))
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 0.9 + 0.26 * len(names))}):
        figure, ax = plt.subplots()
        ax.barh(names, counts, color=np.where(marked, LINES[0], GREY))
        ax.plot(np.cumsum(counts), names, "o-", color=INK["useful"], markersize=3, linewidth=1)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        for row, count in enumerate(counts):
            ax.annotate(str(count), (count, row), (8, 2), textcoords="offset points", va="center")
        ax.set(xlim=(0, 1.02 * counts.sum()), xlabel="count; the line is the running total")
        share = ax.secondary_xaxis("top", functions=(lambda x: x / counts.sum(), lambda x: x * counts.sum()))
        share.xaxis.set_major_formatter(_IN_PERCENT)
    plt.close(figure)
    return figure


def few_failures(counts, low, high, expected, worst):
    """How well a number of failures fixes the failure interval, and what not knowing it better costs.

    counts : failures seen; low, high : the ends of the interval for M, as multiples of the estimate;
    expected, worst : extra writing and redone work, on average and at the worse of the two ends. Arrays of one shape.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 4.8)}):
        figure, (known, extra) = plt.subplots(2, sharex=True)
        known.fill_between(counts, low, high, color=COLOURS["useful"])
        known.axhline(1, color=INK["useful"], linewidth=1)
        known.set(yscale="log", ylabel="failure interval,\nmultiple of the estimate", ylim=(0.1, 10))
        known.set_yticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
        known.yaxis.set_minor_locator(NullLocator())
        extra.plot(counts, worst, color=LINES[2], label="at the worse end of the band above")
        extra.plot(counts, expected, color=INK["useful"], label="on average")
        extra.set(xscale="log", xlim=(counts[0], counts[-1]), ylim=(0, 0.5), xlabel="failures seen (log scale)")
        extra.set_ylabel("extra writing\nand redone work")
        extra.yaxis.set_major_formatter(_IN_PERCENT)
        extra.set_xticks([1, 2, 3, 5, 10, 20, 50, 100], ["1", "2", "3", "5", "10", "20", "50", "100"])
        extra.xaxis.set_minor_locator(NullLocator())
        extra.legend(frameon=False)
    plt.close(figure)
    return figure


def gaps_of_devices(cases):
    """Share of the gaps between failures that last longer than a given time, for several jobs.

    cases : dict from a label to an array of gaps, in units of the device interval over the number of devices: so
        all jobs share one axis, on which failures at random make a straight line.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.6)}):
        figure, ax = plt.subplots()
        straight = np.array([0, 5])
        ax.plot(straight, np.exp(-straight), color=COLOURS["redone"], linewidth=4, label="failures at random")
        for (label, gaps), colour in zip(cases.items(), LINES):
            times = np.sort(gaps)
            ax.step(times, 1 - np.arange(1, len(times) + 1) / len(times), where="post", color=colour, label=label)
        ax.set(yscale="log", xlim=(0, 5), ylim=(4e-3, 1.05))
        ax.set(xlabel="gap, as a multiple of the device interval over the number of devices")
        ax.set_ylabel("gaps that last longer (log scale)")
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.yaxis.set_minor_locator(NullLocator())
        ax.legend(frameon=False)
    plt.close(figure)
    return figure


def _devices_axis(ax, devices):
    ax.set_xscale("log")
    ax.set(xlim=(devices[0], devices[-1]), xlabel="devices in the job (log scale)")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))


def loss_against_devices(devices, curves, levels):
    """Least loss against the number of devices, exact and to first order.

    devices : array; curves : dict from a label to a pair of arrays, the exact loss and the first-order loss;
    levels : losses at which a line is drawn. A first-order loss above 1 is not drawn.
    """
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots()
        ax.hlines(levels, devices[0], devices[-1], color=COLOURS["useful"], linewidth=1.5)
        for (label, (exact, first)), colour in zip(curves.items(), LINES):
            ax.plot(devices, exact, color=colour, label=label)
            ax.plot(devices, np.where(first <= 1, first, np.nan), color=colour, linestyle=(0, (4, 3)), linewidth=1)
        ax.plot([], [], color=INK["useful"], linestyle=(0, (4, 3)), linewidth=1, label="first order")
        _devices_axis(ax, devices)
        ax.set(ylim=(0, 1), ylabel="share of training time lost")
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.legend(frameon=False, loc="upper left")
    plt.close(figure)
    return figure


def growth_with_devices(devices, restarts, others):
    """How the terms of the loss grow with the number of devices: straight lines on two logarithmic axes.

    devices, restarts : arrays; others : dict from a label to writing and redone work together, an array.
    """
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots()
        ax.plot(devices, restarts, color=COLOURS["restarts"], linewidth=2.5, label=NAMES["restarts"])
        for (label, loss), colour in zip(others.items(), LINES):
            ax.plot(devices, loss, color=colour, label=label)
        _devices_axis(ax, devices)
        ax.set(yscale="log", ylim=(1e-4, 1), ylabel="share of training time lost (log scale)")
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.legend(frameon=False, loc="upper left")
    plt.close(figure)
    return figure


def bands(rows):
    """Predicted bands of effective time beside published values.

    rows : dict from a label to three pairs of shares: the band of the exact theory, that of first order, and
        what the published text allows. First order below 0 is cut off.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 1.2 + 0.36 * len(rows))}):
        figure, ax = plt.subplots()
        for row, (exact, first, published) in enumerate(rows.values()):
            start, end = np.clip(first, 0, 1)
            ax.plot([start, end], [row, row], color=GREY, linewidth=1.5, solid_capstyle="butt")
            ax.barh(row, exact[1] - exact[0], left=exact[0], height=0.5, color=GREY)
            low, high = published
            ax.plot(published, [row, row], color=LINES[2], linewidth=3, solid_capstyle="butt")
            mark, at = ("|", (low + high) / 2) if high < 1 else (">", high)
            ax.plot(at, row, mark, color=LINES[2], markersize=10, markeredgewidth=2 if high < 1 else 0, clip_on=False)
        ax.barh(0, 0, color=GREY, label="exact theory")
        ax.plot([], [], color=GREY, linewidth=1.5, label="first order")
        ax.plot([], [], "|", color=LINES[2], markersize=10, markeredgewidth=3, label="published")
        ax.set_yticks(range(len(rows)), rows)
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(0, 1), ylim=(len(rows) - 0.5, -0.5), xlabel="effective share of elapsed time")
        ax.xaxis.set_major_formatter(_IN_PERCENT)
        figure.legend(loc="outside upper left", ncols=3, frameon=False)
    plt.close(figure)
    return figure


def waterfall(before, after):
    """A restart taken apart: all parts as they were, what each measure saves, all parts with the measures.

    before, after : dicts from a part to seconds, the same parts in the same order; no part grows.
    """
    wrong = [part for part in before if not 0 <= after.get(part, -1) <= before[part]]
    if wrong or before.keys() != after.keys():
        raise ValueError(f"after = {after!r}: give each part of before a time from 0 to what it was")
    totals = [sum(before.values()), sum(after.values())]
    savings = [before[part] - after[part] for part in before]
    lefts = totals[0] - np.cumsum(savings)
    rows = ["all parts slow", *before, "all parts short"]
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 0.7 + 0.4 * len(rows))}):
        figure, ax = plt.subplots()
        ax.barh([0, len(rows) - 1], totals, color=COLOURS["restarts"])
        ax.barh(range(1, len(rows) - 1), savings, left=lefts, color=COLOURS["useful"], edgecolor=INK["useful"])
        words = [duration(totals[0]), *("−" + duration(saved) for saved in savings), duration(totals[1])]
        for row, (end, text) in enumerate(zip([totals[0], *lefts + savings, totals[1]], words)):
            ax.annotate(text, (end, row), (4, 0), textcoords="offset points", va="center")
        for row, x in enumerate([totals[0], *lefts]):  # each bar ends where the one below it begins
            ax.plot([x, x], [row + 0.4, row + 0.6], color=INK["useful"], linewidth=0.8)
        ax.set_yticks(range(len(rows)), rows)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        _plain_time_axis(ax, totals[0] * 1.13)
        ax.set_xlabel("restart time")
        ax.tick_params(axis="y", length=0)
    plt.close(figure)
    return figure


def spares_against_nodes(node_interval, repairs, chance, band, marked):
    """Spare nodes, as a share of the nodes of the job, against the size of the job.

    node_interval : how often one node fails so that it needs a repair, in seconds.
    repairs : average repair times, one curve each; chance : of a failure to find no spare.
    band : the two ends of a rule of thumb, shares; marked : dict from a label to (nodes, repair time).
    """

    def share(nodes, repair):
        average = value(formulas.IN_REPAIR, v=1, R=repair, M=node_interval / nodes)
        return spares_needed(average, chance) / nodes

    largest = max(16384, *(2 * nodes for nodes, _ in marked.values()))
    sizes = np.unique(np.geomspace(8, largest, 300).round())
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.6)}):
        figure, ax = plt.subplots()
        ax.axhspan(*band, color=COLOURS["useful"])
        ax.annotate(
            f"rule of thumb: {100 * band[0]:.0f}–{percent(band[1], 0)}", (1, (band[0] * band[1]) ** 0.5), (-4, 0),
            xycoords=("axes fraction", "data"), textcoords="offset points", ha="right", va="center",
        )  # fmt: skip
        for repair, name in zip(repairs, ("writing", "redone", "restarts")):
            ax.plot(sizes, share(sizes, repair), color=COLOURS[name], label=duration(repair))
        for label, (nodes, repair) in marked.items():
            mark = nodes, share(nodes, repair)
            ax.plot(*mark, "o", color="white", markeredgecolor=INK["useful"], markersize=6)
            ax.annotate(label, mark, (5, 3), textcoords="offset points", va="bottom")
        ax.set(xscale="log", yscale="log", xlim=(sizes[0], sizes[-1]), ylim=(5e-4, 0.5))
        ax.set_xlabel("nodes of the job (log scale)")
        ax.set_ylabel("spares per node (log scale)")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_minor_locator(NullLocator())
        figure.legend(loc="outside upper left", ncols=3, frameon=False, title="average repair", alignment="left")
    plt.close(figure)
    return figure


def going_on(delta, M, r, q):
    """Time lost by one failure without a spare, against the wait for a replacement, for three choices.

    delta, M, r : write time, failure interval, restart time in seconds; q : the share of its speed that the job
    keeps without the broken part. Markers show from which wait on the other choices are better than to wait.
    """
    grow = value(formulas.BREAK_EVEN, delta=delta, q=q, r=r)
    next_failure = value(formulas.BREAK_EVEN_NEXT, M=M, q=q)
    waits = np.geomspace(min(grow, next_failure) / 5, 20 * max(grow, next_failure), 300)
    # Growing before the first restart has ended makes no sense: below r the curve is level.
    growing = value(formulas.GROWING, T=np.maximum(waits, r), delta=delta, q=q, r=r)
    small = np.full_like(waits, value(formulas.SMALL_UNTIL_NEXT, M=M, q=q, r=r))
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.4)}):
        figure, ax = plt.subplots()
        ax.plot(waits, value(formulas.WAITING, T=waits, r=r), color=COLOURS["restarts"], label="wait")
        ax.plot(waits, growing, color=COLOURS["writing"], label="go on, grow when it comes")
        ax.plot(waits, small, color=COLOURS["redone"], label="go on, grow at the next failure")
        for wait in (grow, next_failure):
            mark = wait, value(formulas.WAITING, T=wait, r=r)
            ax.plot(*mark, "o", color="white", markeredgecolor=INK["useful"], markersize=7)
            ax.annotate(duration(wait), mark, (0, 8), textcoords="offset points", ha="right", va="bottom")
        _time_axis(ax, waits[0], waits[-1])
        ax.set_yscale("log")
        low, high = ax.get_ylim()
        ax.set_yticks(_TICKS[(low <= _TICKS) & (_TICKS <= high)])
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(_IN_TIME)
        ax.set(xlabel="wait for a replacement (log scale)", ylabel="time of the job lost (log scale)")
        ax.legend(frameon=False)
    plt.close(figure)
    return figure


def slowest_of(sigma, ranks, simulated):
    """How much longer a step takes because it ends with its slowest rank, against the number of ranks.

    sigma : the noise of one rank, a standard deviation as a share of the step.
    ranks : several numbers; simulated : dict from a law of `formulas.SLOWEST` to the noise of the slowest of so
        many ranks, in standard deviations. The curves are the formula's, the points the simulation's.
    """
    most = 2 * max(ranks)
    many = np.geomspace(min(ranks), most, 200)
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.6)}):
        figure, ax = plt.subplots()
        for (law, formula), name in zip(formulas.SLOWEST.items(), ("writing", "redone", "restarts")):
            curve = value(formulas.sigma * formula, sigma=sigma, N=many)
            ax.plot(many, curve, color=COLOURS[name])
            points = sigma * np.array(simulated[law])
            ax.plot(ranks, points, "o", color="white", markeredgecolor=COLOURS[name], markersize=5, zorder=3)
            ax.annotate(law, (most, curve[-1]), (4, 0), textcoords="offset points", va="center", annotation_clip=False)
        ax.set(xscale="log", yscale="log", xlim=(min(ranks), most))
        ax.set(xlabel="ranks in lockstep (log scale)", ylabel="step longer by (log scale)")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_minor_locator(NullLocator())
    plt.close(figure)
    return figure


def lockstep(before, step, slow):
    """One step of a few ranks: each computes, then waits in the collective until the slowest has come.

    before : time of each rank before the collective; step : the time until all leave it, the same for all.
    slow : the rank that is slow.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.2)}):
        figure, ax = plt.subplots()
        ranks = np.arange(len(before))
        colours = [COLOURS["restarts" if rank == slow else "writing"] for rank in ranks]
        ax.barh(ranks, before, color=colours, height=0.7)
        ax.barh(ranks, step - before, left=before, color=COLOURS["useful"], height=0.7)
        ax.text(before[slow] / 2, slow, "before the collective", color="white", ha="center", va="center")
        other = 0 if slow != 0 else 1
        ax.text((before[other] + step) / 2, other, "in the collective", color=INK["useful"], ha="center", va="center")
        ax.axvline(step, color=INK["useful"], linewidth=1.2)
        ax.set(xlim=(0, 1.02 * step), xlabel="time, in steps without noise", ylabel="rank")
        ax.set_yticks(ranks)
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
    plt.close(figure)
    return figure


def alarms(z, thresholds, slow):
    """How far all ranks are from the median one: a histogram, with thresholds and the slow rank.

    z : array of robust z; thresholds : dict from a label to a z; slow : the rank that is slow.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.2)}):
        figure, ax = plt.subplots()
        edges = np.arange(np.floor(z.min()), np.ceil(z.max()) + 0.5, 0.25)
        ax.hist(np.delete(z, slow), bins=edges, color=COLOURS["writing"])
        ax.hist(z[[slow]], bins=edges, color=COLOURS["restarts"])
        ax.set_yscale("log")
        ax.set_ylim(0.7, None)
        top = ax.get_ylim()[1]
        for label, threshold in thresholds.items():
            ax.axvline(threshold, color=INK["useful"], linewidth=1.2)
            ax.annotate(label, (threshold, top), (4, 0), textcoords="offset points", va="top")
        ax.annotate("slow rank", (z[slow], 1), (0, 4), textcoords="offset points", ha="center", va="bottom")
        ax.set(xlabel="robust z", ylabel="ranks (log scale)")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    plt.close(figure)
    return figure


# Lines of training runs: the run left alone first, then those that something happened to.
_RUNS = ((INK["useful"], "-"), (COLOURS["restarts"], "-"), (COLOURS["writing"], "--"), (COLOURS["redone"], "-."))


def loss_curves(panels, labels, first=0, over=1):
    """Losses of training runs against their steps, in panels side by side with one legend.

    panels : dict from the name of a loss to one array for each run, one number for each step.
    labels : of the runs; the one left alone comes first.
    first : the number of the step before the first one. over : draw means over so many steps.
    """
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.4)}):
        figure, axes = plt.subplots(1, len(panels), squeeze=False)
        for ax, (name, runs) in zip(axes[0], panels.items()):
            for label, losses, (colour, style) in zip(labels, runs, _RUNS):
                losses = np.convolve(losses, np.full(over, 1 / over), mode="valid")
                ax.plot(first + over + np.arange(len(losses)), losses, style, color=colour, label=label, linewidth=1.4)
            ax.set(title=name, xlabel="training step", ylim=(0, None))
            ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=2, frameon=False)
    plt.close(figure)
    return figure


def flipped_bits(outcomes, names):
    """What one flipped bit does to the held-out loss, against the number of the bit; one panel for each vector.

    outcomes : dict from the key of a vector to its `youngdaly.corruption.Flips`. names : dict from key to title.
    A mark for each flip: a cross where the rule on the loss called at once, a dot where it did not.
    """
    least, most, none = 1e-7, 1e3, 1e5  # what is less than the first is drawn at it; no number is drawn at the last
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 5.0)}):
        figure, axes = plt.subplots(2, 2, sharex=True, sharey=True)
        for ax, (key, flips) in zip(axes.flat, outcomes.items()):
            bits = np.broadcast_to(np.arange(len(flips.off))[:, None], flips.off.shape)
            height = np.where(np.isfinite(flips.off), np.clip(np.abs(flips.off), least, most), none)
            loud = flips.loud
            ax.axvspan(22.5, 30.5, color=COLOURS["useful"], linewidth=0)
            ax.plot(bits[~loud], height[~loud], "o", color=INK["useful"], markersize=3, alpha=0.4, markeredgewidth=0)
            ax.plot(bits[loud], height[loud], "x", color=COLOURS["restarts"], markersize=5)
            ax.set(title=names[key], yscale="log", ylim=(least / 3, 10 * none), xlim=(32, -1))
            ax.set_yticks([least, 1e-5, 1e-3, 1e-1, 1e1, none], ["none", "0.001 %", "0.1 %", "10 %", "1000 %", "no number"])
            ax.yaxis.set_minor_locator(NullLocator())
            ax.set_xticks([31, 23, 15, 7, 0])
        for ax in axes[1]:
            ax.set_xlabel("bit: sign, exponent (shaded), fraction")
        figure.supylabel("change of the held-out loss", fontsize=10)
    plt.close(figure)
    return figure


def verified_loss(delta, V, M_s, r, replayed=None):
    """Share of time lost to silent errors against the interval, with a verification before every save.

    delta, V, M_s, r : write, verification, silent interval, restart, in seconds.
    replayed : dict from an interval to the loss that a replay gave, drawn as dots.
    """
    numbers = {"delta": delta, "V": V, "M_s": M_s}
    best, least = value(formulas.VERIFIED_BEST, **numbers), value(formulas.VERIFIED_LEAST, **numbers, r=r)
    tau = np.geomspace(best / 30, best * 30, 400)
    layers = {
        "restarts": np.full_like(tau, value(formulas.RESTARTS, r=r, M=M_s)),
        "redone": value(formulas.VERIFIED_REDONE, tau=tau, M_s=M_s),
        "writing": value(formulas.VERIFIED_WRITING, tau=tau, delta=delta, V=V),
    }
    with plt.rc_context(STYLE | {"figure.figsize": (7.2, 3.4)}):
        figure, ax = plt.subplots()
        ax.stackplot(tau, *layers.values(), colors=[COLOURS[n] for n in layers], edgecolor="white", linewidth=0.6)
        _time_axis(ax, tau[0], tau[-1])
        ax.set_ylim(0, _rung(3 * least))
        ax.yaxis.set_major_formatter(_IN_PERCENT)
        ax.set(xlabel="interval between verified saves (log scale)", ylabel="share of training time lost")
        ax.vlines(best, 0, least, color=INK["useful"], linewidth=1.2)
        ax.annotate(
            f"best: {duration(best)}\n{percent(least)} lost", (best, least), (0, 10),
            textcoords="offset points", ha="center", va="bottom",
        )  # fmt: skip
        top = ax.get_ylim()[1]
        ax.text(best / 12, top / 2, "writing, verifying", color=INK["writing"], ha="center", va="center")
        ax.text(best * 15, top / 2, NAMES["redone"], color=INK["redone"], ha="center", va="center")
        if replayed:
            ax.plot(list(replayed), list(replayed.values()), "o", color="white", markeredgecolor=INK["useful"], markersize=6)
    plt.close(figure)
    return figure
