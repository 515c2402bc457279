"""The book's module against what it could have been built on: NumPy alone, SimPy, mlsysim, and formulas by hand.

Run with `make bench`, which installs bench/requirements.txt. Each row alternates the two sides and prints the
median of the ratios of neighbouring runs, with their quartiles. Exits with 1 if a row misses its limit.
"""

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from statistics import median, quantiles
from time import perf_counter

import mlsysim
import numpy as np
import simpy
import value as by_hand
from mlsysim.solvers import ReliabilityModel

from youngdaly import formulas
from youngdaly.evaluation import split, value
from youngdaly.processes import Exponential
from youngdaly.replay import Policy, replay, simulate

FAILURES, FEW, M = 10**7, 500, 11160.0
POLICY = Policy(interval=268.92, stall=3.24, drain=0, restart=600)
MEMORY_LIMIT = 300  # MB


def with_simpy(gaps, policy):
    """The replay as a process model: a job that works, writes and restarts, and failures that interrupt it."""
    env, booked = simpy.Environment(), dict.fromkeys(("useful", "writing", "redone", "restarts"), 0.0)

    def run(env):
        doing, unsafe, since = "restarts", 0.0, 0.0
        while True:
            since = env.now
            try:
                yield env.timeout({"restarts": policy.restart, "work": policy.interval, "writing": policy.stall}[doing])
                failed = False
            except simpy.Interrupt:
                failed = True
            if doing == "work":
                unsafe += env.now - since
            else:
                booked[doing] += env.now - since
            if failed:
                booked["redone"] += unsafe
                doing, unsafe = "restarts", 0.0
            elif doing == "writing":
                booked["useful"] += unsafe
                doing, unsafe = "work", 0.0
            else:
                doing = "writing" if doing == "work" else "work"

    def fail(env, job):
        for gap in gaps:
            yield env.timeout(gap)
            job.interrupt()

    failures = env.process(fail(env, env.process(run(env))))
    env.run(until=failures)
    env.step()  # the last interrupt
    return booked


def our_answer(M, delta, r):
    tau = value(formulas.YOUNG, delta=delta, M=M)
    return tau, split(tau, delta, M, r)


def seconds(function, *arguments):
    start = perf_counter()
    function(*arguments)
    return perf_counter() - start


def importing(module):
    return seconds(subprocess.run, [sys.executable, "-c", f"import {module}"])


def compare(label, ours, theirs, runs, at_most=None, at_least=None, per_theirs=1.0):
    """One row: how long `ours` takes against `theirs`, or the other way round where a least speed-up is asked for."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs) * per_theirs) for _ in range(runs)]
    ratios = [theirs / ours if at_least else ours / theirs for ours, theirs in pairs]
    low, middle, high = quantiles(ratios)
    times = (f"{1e3 * median(side):,.3g} ms" for side in zip(*pairs))
    limit = f"≤ {at_most:g}" if at_most else f"≥ {at_least:g}" if at_least else ""
    print(f"{label:52}{next(times):>12}{next(times):>12}{middle:>11,.3g}{f'{low:,.3g} – {high:,.3g}':>20}{limit:>8}")
    return (at_most is not None and middle > at_most) or (at_least is not None and middle < at_least)


def peak_memory():
    """Peak of a process that simulates all failures, in MB."""
    simulation = (
        "import numpy as np; from youngdaly.replay import Policy, simulate; "
        "from youngdaly.processes import Exponential; "
        f"simulate(Exponential({M}), {POLICY}, 100, {FAILURES // 100}, np.random.default_rng(0))"
    )
    # In a child of a small process: a child's peak is never below that of the process that starts it.
    watch = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", watch, simulation]
    peak = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def main():
    rng = np.random.default_rng(0)
    gaps = rng.exponential(M, FAILURES)
    few = gaps[:FEW]
    booked = with_simpy(few, POLICY)
    ledger = replay(few, POLICY)
    for name, entry in booked.items():  # the same model, so the same ledger
        np.testing.assert_allclose(getattr(ledger, name), entry, rtol=1e-9)

    fleet = mlsysim.Systems.Clusters.Meta_Llama3_16K_H100
    theirs = ReliabilityModel().solve(fleet, 24, POLICY.stall, POLICY.restart)
    fleet_M = theirs.fleet_mtbf.m_as("second")
    tau, shares = our_answer(fleet_M, POLICY.stall, POLICY.restart)
    np.testing.assert_allclose(theirs.optimal_checkpoint_interval.m_as("second"), tau)
    np.testing.assert_allclose(theirs.goodput_ratio, shares["useful"] + shares["redone"])  # it leaves redone work out

    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "simpy", "mlsysim"))
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}")
    print(f"{'ours against theirs':52}{'ours':>12}{'theirs':>12}{'ratio':>11}{'quartiles':>20}{'limit':>8}")
    missed = [
        compare(f"replay of {FAILURES:.0e} gaps · drawing them", lambda: replay(gaps, POLICY),
                lambda: rng.exponential(M, FAILURES), 9, at_most=3),
        compare("drawing and replaying them · drawing them",
                lambda: simulate(Exponential(M), POLICY, 100, FAILURES // 100, rng),
                lambda: rng.exponential(M, FAILURES), 9, at_most=3),
        compare("replay of as many failures · SimPy, from 500", lambda: replay(gaps, POLICY),
                lambda: with_simpy(few, POLICY), 5, at_least=100, per_theirs=FAILURES / FEW),
        compare("interval, split, effective time · mlsysim", lambda: our_answer(fleet_M, POLICY.stall, POLICY.restart),
                lambda: ReliabilityModel().solve(fleet, 24, POLICY.stall, POLICY.restart), 201),
        compare("import youngdaly.evaluation · import mlsysim", lambda: importing("youngdaly.evaluation"),
                lambda: importing("mlsysim"), 5),
    ]  # fmt: skip
    memory = peak_memory()
    print(f"peak memory of drawing and replaying {FAILURES:.0e} gaps: {memory:.0f} MB (limit {MEMORY_LIMIT} MB)")
    print(
        f"mlsysim's goodput for its {fleet.count}-node Llama 3 cluster is {theirs.goodput_ratio:.1%}, since it leaves out "
        f"redone work; with it, {shares['useful']:.1%}\n"
    )
    missed += [memory > MEMORY_LIMIT, by_hand.main()]
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
