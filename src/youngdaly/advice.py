"""What a `Case` means for whoever runs the job: tables and sentences, each with its uncertainty.

Losses are shares of elapsed time, to first order unless a name says exact or replayed.
"""

import html
import re

import pandas as pd

from youngdaly import formulas
from youngdaly.cases import NUMBERS
from youngdaly.evaluation import needed, split, value
from youngdaly.failures import bursts, dispersion, exponential_p, trend, weibull_fit
from youngdaly.figures import NAMES
from youngdaly.replay import Policy, replay
from youngdaly.text import answer, duration, percent, rate, size

LOSSES = ("writing", "redone", "restarts")
ENOUGH = 8  # failures, before anything is said about whether they come at random
SIMULATED_GAPS = 2_000_000  # bounds the time of the simulated test
ALL_LOST = "more than all of the time is lost with it, to first order"
LESS = 2  # what helps most is asked of half the write time, half the restart time and half as many failures


def _share(share, decimals=1):
    """A loss in percent; to first order it can exceed all of the time."""
    return percent(share, decimals) if share < 1 else "more than all"


def _small(share):
    """A share of time in percent, of which a reader may expect that it is nothing."""
    return "less than 0.01 %" if share < 1e-4 else _share(share, 2)


def _as_it_stands(text):
    """A text from a log so that Markdown shows it as it stands."""
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", html.escape(text, quote=False))


# --- What was read ----------------------------------------------------------------------------------------------
def fates(case):
    """What became of the rows of the log, each fate with its count and its lines: a DataFrame."""
    rows = case.log.accounting()
    return rows.assign(fate=rows["fate"].map(_as_it_stands))


def inputs(case):
    """The numbers of the job and where each is from: a DataFrame."""
    as_text = {
        "devices": "{:,.0f}".format,
        "price_per_device_hour": "{:,.2f}".format,
        "target_loss": percent,
        "state_bytes": size,
        "bandwidth_bytes_per_s": rate,
    }
    rows = [
        (meaning, as_text.get(name, duration)(case.numbers[name]), case.origin[name])
        if name in case.numbers
        else (meaning, "–", f"not given ({name})")
        for name, meaning in NUMBERS.items()
    ]
    return pd.DataFrame(rows, columns=["quantity", "value", "from"])


def notes(case):
    """How the log was read, as a Markdown list."""
    return "\n".join(f"- {_as_it_stands(note)}" for note in case.log.notes)


# --- How often the job fails ------------------------------------------------------------------------------------
def how_often(case):
    """The failure interval and how surely it is known."""
    log, M, n = case.log, case.M, len(case.log.gaps)
    words = (
        f"**One failure every {duration(M.best)}**: {n:,} failure{'s' * (n != 1)} in {duration(log.running)}"
        f"{' of running time' * log.clock_stops}. For failures at random, the true failure interval lies between "
        f"{duration(M.low)} and {duration(M.high)} (95 % confidence)."
    )
    if log.unfinished > 0:
        words += (
            f" The last {duration(log.unfinished)} passed without a failure: they count as time, although nobody knows "
            "how long that gap will become."
        )
    if "devices" in case.numbers:
        device = value(formulas.DEVICE_INTERVAL, M=M.best, N=case.numbers["devices"])
        words += f" For a single device that is one failure in {duration(device)}."
    return words


def causes(case, at_most=8):
    """Failures by cause, the most frequent first and the rare ones together: a DataFrame."""
    counts = case.log.failures["cause"].replace("", "not stated").map(_as_it_stands).value_counts()
    if len(counts) > at_most:
        rare = counts.iloc[at_most - 1 :]
        counts = pd.concat([counts.drop(rare.index), pd.Series({f"{len(rare)} others": rare.sum()})])
    shares = [percent(share, 0) for share in counts / counts.sum()]
    return pd.DataFrame({"cause": counts.index, "failures": counts.to_numpy(), "share": shares})


def randomness(case, rng):
    """Do the failures come at random, at a constant rate? A DataFrame, one row for each way they might not.

    Its last column says how often failures at random would look at least so odd. rng : a NumPy generator.
    """
    columns = ["at random?", "what was looked at", "so odd by chance"]
    log, M, n = case.log, case.M.best, len(case.log.gaps)
    if n < ENOUGH:
        too_few = f"{n} failure{'s' * (n != 1)}: too few to tell; {ENOUGH} are needed"
        return pd.DataFrame([("not known", too_few, "–")], columns=columns)
    drift = trend(log.gaps, log.unfinished, log.ends_with_failure)
    within = M / 20
    close = bursts(log.gaps, within, M)
    spread = dispersion(log.gaps, log.unfinished)
    shape, _, p_shape = weibull_fit(log.gaps, log.unfinished)
    p_curve = exponential_p(log.gaps, rng, min(999, max(199, SIMULATED_GAPS // n)))
    looks = {
        f"trend: {drift.measured:,.0f} of {n:,} failures in the first half of the time": drift.p,
        f"bursts: {close.measured:,} failures within {duration(within)} of another; {close.expected:,.1f} expected": (
            close.p
        ),
        f"clusters: counts in equal spans of time vary {spread.measured:.2f} times as much as expected": spread.p,
        f"memory: Weibull shape {shape.best:.2f} (95 %: {shape.low:.2f} to {shape.high:.2f}); below 1, a failure is "
        "soon followed by another": p_shape,
        "curve: all gaps against the exponential distribution (Anderson–Darling)": p_curve,
    }
    verdicts = ["no" if p < 0.01 else "doubtful" if p < 0.05 else "nothing against it" for p in looks.values()]
    chances = ["below 0.1 %" if p < 0.001 else percent(p) for p in looks.values()]
    return pd.DataFrame(dict(zip(columns, (verdicts, list(looks), chances))))


def trust(looks):
    """What the table of `randomness` means for the formula."""
    verdicts = set(looks["at random?"])
    if "not known" in verdicts:
        return "With so few failures the confidence interval above says more than the number itself."
    if "no" in verdicts:
        return (
            "**These failures do not come at random.** The failure interval is an average over better and worse times "
            "and the formula an approximation: what the replay below finds on the log's own gaps counts for more."
        )
    if "doubtful" in verdicts:
        return (
            "One look in twenty is doubtful by chance alone, so this is a hint and no proof; see whether the replay "
            "below agrees with the formula."
        )
    return "Nothing speaks against failures at random, which is what the formula takes for granted."


# --- How often to save ------------------------------------------------------------------------------------------
def advice(case, tolerated):
    """The interval to use, the cost of rounding it, and how little it matters: sentences.

    tolerated : the extra loss, as a share of the least loss, that is still called little.
    """
    shortest, longest = _flat(case, tolerated)
    words = f"**Save every {case.named(case.advised)}.** "
    if "step_s" in case.numbers:
        rounding = case.loss(case.advised) - case.least_loss()
        words += f"Rounding to whole steps costs {_small(rounding)} of the time. "
    unsure = max(case.loss(case.advised, M=M) - case.least_loss(M=M) for M in case.M[1:])
    words += (
        f"The bottom is flat: every interval from {duration(shortest)} to {duration(longest)} adds at most "
        f"{percent(tolerated, 0)} to the loss. Not knowing the failure interval better "
        f"{f'costs {_small(unsure)}' if unsure < 1 else 'may cost, to first order, more than all'} of the time "
        "at the worse end of its confidence interval."
    )
    if case.now is None:
        return words
    gain = case.loss(case.now) - case.loss(case.advised)
    if case.loss(case.now) >= 1:
        return f"{words} **The interval now, {case.named(case.now)}, lies outside**: {ALL_LOST}."
    worth = f"{_small(gain)} of the time"
    if gain > 0 and case.per_day(gain):
        worth += f" ({case.per_day(gain)})"
    if shortest <= case.now <= longest:
        return f"{words} **The interval now, {case.named(case.now)}, lies within it**: changing it would gain {worth}."
    return f"{words} **The interval now, {case.named(case.now)}, lies outside**: changing it gains {worth}."


def _flat(case, tolerated):
    """The shortest and the longest interval that lose little more than the best."""
    return [value(end, x=tolerated, **case.costs) for end in (formulas.SHORTEST, formulas.LONGEST)]


def intervals(case, tolerated):
    """The interval to use among its neighbours: a DataFrame of what, interval, steps and time lost."""
    delta, (M, low, high) = case.numbers["write_s"], case.M
    shortest, longest = _flat(case, tolerated)
    taus = {
        "**to use**": case.advised,
        "now": case.now,
        "best, first order (Young)": case.best,
        "best, exact theory": value(formulas.EXACT_BEST, delta=delta, M=M),
        f"best if the job fails every {duration(low)}": value(formulas.YOUNG, delta=delta, M=low),
        f"best if the job fails every {duration(high)}": value(formulas.YOUNG, delta=delta, M=high),
        f"shortest within {percent(tolerated, 0)}": shortest,
        f"longest within {percent(tolerated, 0)}": longest,
    }
    step = case.numbers.get("step_s")
    rows = [
        (what, duration(tau, 3), "–" if step is None else f"{tau / step:,.1f}", _share(case.loss(tau), 2))
        for what, tau in taus.items()
        if tau is not None
    ]
    return pd.DataFrame(rows, columns=["interval", "time", "steps", "time lost"])


# --- Where the time goes ----------------------------------------------------------------------------------------
def bill(case):
    """The split of time at the advised interval, and what the loss comes to: sentences."""
    shares = split(case.advised, **case.costs)
    exact = value(formulas.EXACT_LOSS, tau=case.advised, **case.costs)
    words = f"{answer(case.advised, shares)} This is to first order; the exact theory says {_share(exact)} lost."
    daily = case.per_day(1 - shares["useful"])
    return f"{words}{f' The loss comes to {daily}.' * bool(daily)}{_planned(case)}"


def _planned(case):
    """That planned stops are no part of the loss: a sentence after a space, or '' without any."""
    stops = case.log.rows[case.log.rows["fate"] == "planned stop"]
    down = (stops["end"] - stops["time"]).dt.total_seconds().dropna()
    if stops.empty:
        return ""
    known = f", {duration(float(down.sum()))} of downtime in the {len(down):,} that state it" if len(down) else ""
    return f" Planned stops are left out ({len(stops):,}{known})."


def lost_work(case):
    """The work that the log says was lost, against half an interval: sentences."""
    lost = case.log.lost
    if not len(lost):
        return "The log does not say how much work its failures lost; the formula takes half an interval for each."
    words = f"The log states the work lost in {len(lost)} failures: {duration(float(lost.mean()))} on average."
    if case.now is None:
        return words
    half, late = duration(case.now / 2), _noticed_late(case)
    if not late:
        return f"{words} Half of the interval now is {half}, so the interval explains it."
    return (
        f"{words} **Half of the interval now is only {half}: most of this work was lost before anybody noticed the "
        f"failure.** Noticing at once would gain {_share(late)} of the time."
    )


def _noticed_late(case):
    """The share of time by which stated losses of work exceed half an interval; 0 where the interval explains them."""
    lost = case.log.lost
    if case.now is None or not len(lost) or lost.mean() <= case.now:
        return 0.0
    return float(lost.mean() - case.now / 2) / case.M.best


# --- What would have happened -----------------------------------------------------------------------------------
def replayed(case):
    """The log's own gaps replayed: a dict from a policy's label to its shares.

    The policies are those of the case, and the advised interval with half the restart time. The replay ends with
    the last failure.
    """
    restart = case.numbers["restart_s"]
    policies = {label: (tau, restart) for label, tau in case.policies().items()}
    policies[f"as advised, restart in {duration(restart / LESS)}"] = (case.advised, restart / LESS)
    return {
        label: replay(
            case.log.wall_gaps(r), Policy(interval=tau, stall=case.numbers["write_s"], drain=0.0, restart=r)
        ).shares()
        for label, (tau, r) in policies.items()
    }


def against_formula(case, replays):
    """Time lost by the formula beside the replay of `replayed`: a DataFrame."""
    rows = [
        (label, _share(case.loss(tau), 2), percent(1 - replays[label]["useful"], 2))
        for label, tau in case.policies().items()
    ]
    return pd.DataFrame(rows, columns=["policy", "lost by the formula", "lost in the replay"])


def what_was_replayed(case):
    """Which part of the log the replay covers: a sentence."""
    log = case.log
    interval = log.gaps.mean()
    return (
        f"The replay runs through the {duration(float(log.gaps.sum()))} up to the last failure, one failure every "
        f"{duration(float(interval))}, in the order in which they came. The formula knows only the average."
    )


# --- What would help --------------------------------------------------------------------------------------------
def levers(case):
    """What halving one cost would gain, the most helpful first: a DataFrame."""
    delta, M, r = case.costs.values()
    changes = {
        f"write in {duration(delta / LESS)} instead of {duration(delta)}": {"delta": delta / LESS},
        f"restart in {duration(r / LESS)} instead of {duration(r)}": {"r": r / LESS},
        f"fail every {duration(M * LESS)} instead of every {duration(M)}": {"M": M * LESS},
    }
    least = case.least_loss()
    gains = {what: least - case.least_loss(**change) for what, change in changes.items()}
    rows = [
        (what, _share(least - gain), _share(gain), case.per_day(gain) or "–")
        for what, gain in sorted(gains.items(), key=lambda item: -item[1])
    ]
    return pd.DataFrame(rows, columns=["change", "then lost", "gained", "gained each day"])


def targets(case):
    """What one quantity alone must become for the least loss to meet a target: a DataFrame.

    The target is that of the case, or half of the least loss.
    """
    target = case.numbers.get("target_loss", case.least_loss() / 2)
    delta, M, r = case.costs.values()
    state = case.numbers.get("state_bytes")

    def bandwidth(writes):  # one write now is the unit of size, so that the state need not be known
        return f"write in {duration(delta / writes)}" + (f", {rate(writes * state / delta)}" if state else "")

    questions = {
        "storage bandwidth": ("B", {"S": delta, "M": M, "r": r}, bandwidth, 1.0),
        "restart time": ("r", {"delta": delta, "M": M}, duration, r),
        "failure interval": ("M", {"delta": delta, "r": r}, duration, M),
    }
    rows = []
    for what, (unknown, known, words, now) in questions.items():
        try:
            wanted = words(needed(unknown, target, **known))
        except ValueError:
            wanted = "none suffices"
        rows.append((what, words(now), wanted))
    return pd.DataFrame(rows, columns=["change only the", "now", f"for {_share(target, 2)} lost"])


def keep(case):
    """How many checkpoints to keep: a sentence."""
    if "detection_s" not in case.numbers:
        return (
            "**Keep two checkpoints at least**, so that one is whole while the next is written. Give detection_s, the "
            "time until a fault is noticed, to learn how many more."
        )
    count = value(formulas.KEEP, d=case.numbers["detection_s"], tau=case.advised)
    return (
        f"**Keep {count:.0f} checkpoints.** A fault is noticed up to {duration(case.numbers['detection_s'])} late; the "
        f"newest {count - 1:.0f} may hold it by then, and one more is needed to go back to."
    )


# --- In short ---------------------------------------------------------------------------------------------------
def summary(case, looks, tolerated):
    """The answer on one screen: a Markdown list. looks : the table of `randomness`."""
    shares = split(case.advised, **case.costs)
    lost = 1 - shares["useful"]
    lines = [f"**Save every {case.named(case.advised)}.**"]
    shortest, longest = _flat(case, tolerated)
    if case.now is not None:
        gain = case.loss(case.now) - lost
        good = "is nearly as good" if shortest <= case.now <= longest else "is not good"
        more = f"it loses {_small(gain)} more of the time" if case.loss(case.now) < 1 else ALL_LOST
        lines[0] += f" Every {case.named(case.now)}, as now, {good}: {more}."
    low, high = (duration(M) for M in case.M[1:])
    lines.append(f"The job fails every {duration(case.M.best)}; the log allows anything from {low} to {high}.")
    if "no" in set(looks["at random?"]):
        lines.append("**The failures do not come at random**, so look at the replay before you trust the formula.")
    dominant = max(LOSSES, key=shares.get)
    part = percent(shares[dominant] / lost, 0)
    late = _noticed_late(case)
    then = " then" * (case.now is not None and not shortest <= case.now <= longest)
    source = " by the formula" if late else ""
    line = f"{_share(lost)} of the time is{then} lost{source}, {part} of it to {NAMES[dominant]}."
    if late:
        line += (
            f" **By the log it is {_share(lost + late)}**: the log states {duration(float(case.log.lost.mean()))} of "
            "lost work for a failure, and not half an interval."
        )
    lines.append(line + _planned(case))
    gains = {
        "halve the restart time": case.least_loss() - case.least_loss(r=case.numbers["restart_s"] / LESS),
        "halve the write time": case.least_loss() - case.least_loss(delta=case.numbers["write_s"] / LESS),
        "notice failures at once": late,
    }
    if case.now is not None:
        gains[f"save every {case.named(case.advised)}"] = gain
    first = max(gains, key=gains.get)
    daily = case.per_day(gains[first]) if gains[first] < 1 else ""
    worth = f"{_share(gains[first])} of the time{f', {daily}' if daily else ''}"
    if first.startswith("save") and case.loss(case.now) >= 1:
        worth = "as it is now, more than all of the time is lost, to first order"
    lines.append(f"To gain most, **{first}**: {worth}.")
    return "\n".join(f"- {line}" for line in lines)
