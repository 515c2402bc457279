"""Published runs: the rows and what they were derived from, the bands, and which published values they miss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from youngdaly import figures, formulas, runs
from youngdaly.data import SEEN, UNITS, bytes_per_parameter, fact, table
from youngdaly.evaluation import value
from youngdaly.processes import Exponential
from youngdaly.replay import Policy, simulate

ROWS = table("published_runs")
NAMES = list(ROWS["run"].unique())
PREDICTED = [run for run in NAMES if "M" in runs.inputs(run)]

# A published value outside its band is a finding. Each is known, with its reason.
MISSES = {
    "FT-HSDP: synchronous": "the borrowed failure rates are too low for it, or the figure holds other losses too",
    "RSC-1: hourly saves": "the quoted write of 5 min cannot be the stall",
    "RSC-1: saves every 5 min": "the quoted write of 5 min cannot be the stall",
}


def ends(run, quantity):
    row = ROWS[(ROWS["run"] == run) & (ROWS["quantity"] == quantity)]
    return (row[["low", "high"]] * UNITS[row["unit"].item()]).to_numpy()[0]


# --- The rows ---------------------------------------------------------------------------------------


def test_every_row_has_two_ends_in_order_and_stands_once():
    assert (ROWS["low"] > 0).all() and (ROWS["low"] <= ROWS["high"]).all()
    assert not ROWS.duplicated(["run", "quantity"]).any()
    assert set(ROWS["quantity"]) <= {"effective", "useful", *runs._WORDS}


@pytest.mark.parametrize("run", NAMES)
def test_every_run_has_a_published_share_a_write_and_a_restart(run):
    low, high = runs.published(run)
    assert 0 < low <= high <= 1
    assert {"delta", "r"} <= set(runs.inputs(run)) <= set(runs.INPUTS)


def test_what_was_printed_is_what_a_row_says_and_what_was_not_is_derived_or_assumed():
    silent = ROWS[ROWS["printed"].isna()]
    assert set(silent["kind"]) <= {"derived", "assumed"}
    assert ROWS.loc[ROWS["kind"].isin(["assumed", "derived"]), "note"].notna().all()


def test_values_of_papers_that_were_not_seen_are_marked():
    assert set(ROWS.loc[ROWS["source"] == "kokolis2025", "seen"]) <= set(SEEN) - {"first-hand"}


@pytest.mark.parametrize(
    ("run", "quantity", "recomputed"),
    [
        ("Llama 3", "delta", [
            fact("llama3_parameters") * bytes_per_parameter(layout) / fact(rate)
            for layout, rate in (("on_disk", "llama3_bandwidth_peak"), ("with_gradients", "llama3_bandwidth"))
        ]),
        ("BLOOM", "useful", [(94_767 - 12_695) * step for step in (105, 106)]),
        ("BLOOM", "tau", [fact("bloom_later_interval_steps") * fact("bloom_iteration")] * 2),
        ("DLRover: flash checkpoint", "tau", [1.5 * 3600 * fact("dlrover_steps_after") / fact("dlrover_steps_before")] * 2),
        ("ByteRobust", "r", [60 + 2 * 60 + 54, 60 + 15 * 60 + 768]),
    ],
)  # fmt: skip
def test_derived_ends_follow_from_what_they_were_derived_from(run, quantity, recomputed):
    assert ends(run, quantity) == pytest.approx(recomputed, rel=0.03)


def test_the_table_of_inputs_holds_every_run_and_marks_what_was_not_seen():
    shown = runs.stated_and_assumed().set_index("run")
    assert list(shown.index) == NAMES
    for (run, quantity), row in ROWS[ROWS["quantity"] != "effective"].groupby(["run", "quantity"]):
        cell = shown.loc[run, "assumed" if row["kind"].item() == "assumed" else "stated"]
        entry = next(text for text in cell.split("; ") if text.startswith(f"{runs._WORDS[quantity]} "))
        assert entry.endswith("†") == (row["seen"].item() != "first-hand")
    assert shown.loc["Llama 3", "assumed"] == "restart 5 to 20 min †"


# --- From rows to inputs ----------------------------------------------------------------------------


def test_the_failure_interval_is_a_window_over_a_count_or_nodes_times_a_rate():
    assert runs.inputs("Llama 3")["M"] == pytest.approx((54 * 86400 / 466, 54 * 86400 / 419))
    nodes = 9600 / 8
    assert runs.inputs("ByteRobust")["M"] == pytest.approx([86400e3 / nodes / rate for rate in (6.50, 2.34)])
    assert "M" not in runs.inputs("Gemini: before")


def test_effective_time_is_printed_or_work_over_elapsed_time():
    assert runs.published("FT-HSDP: replicas") == (0.795, 0.805)
    assert runs.published("OPT-175B") == pytest.approx((32.5 / 56.5, 33.5 / 55.5))


# --- The bands --------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("run", PREDICTED)
def test_a_band_holds_every_choice_of_inputs_and_is_no_wider(run, exact):
    """Each input drawn anywhere between its ends; the ends of the band are the corners of the box."""
    known = runs.inputs(run)
    low, high = runs.predicted(exact, **known)
    at = {name: np.random.default_rng(1).uniform(*ends, 3000) for name, ends in known.items()}
    corners = np.array(np.meshgrid(*known.values())).reshape(len(known), -1)
    at = {name: np.r_[at[name], corners[i]] for i, name in enumerate(known)}
    if "tau" not in at:
        at["tau"] = value(formulas.EXACT_BEST if exact else formulas.YOUNG, delta=at["delta"], M=at["M"])
    effective = value(formulas.EXACT_EFFECTIVE if exact else formulas.EFFECTIVE, **at)
    assert effective.min() == pytest.approx(low, rel=1e-12)
    assert effective.max() <= high + 1e-12
    if "tau" not in known or known["tau"][0] == known["tau"][1]:  # else the best interval may lie inside
        assert effective.max() == pytest.approx(high, rel=1e-12)


@given(st.floats(1, 100), st.floats(1e3, 1e6), st.floats(1, 500), st.floats(1, 1e3))
def test_the_best_interval_within_its_ends_makes_the_upper_end(delta, M, r, factor):
    one = {"delta": (delta, delta), "M": (M, M), "r": (r, r)}
    best = value(formulas.EXACT_BEST, delta=delta, M=M)
    free = runs.predicted(**one)
    around = runs.predicted(**one, tau=(best / factor, best * factor))
    assert free[0] == free[1] == pytest.approx(around[1], rel=1e-9)
    assert around[0] <= free[0]


@pytest.mark.parametrize("run", ["Llama 3", "FT-HSDP: synchronous"])
def test_the_lower_end_is_what_a_replay_of_the_worst_inputs_gives(run):
    known = runs.inputs(run)
    delta, M, r = known["delta"][1], known["M"][0], known["r"][1]
    policy = Policy(interval=(2 * delta * M) ** 0.5, stall=delta, drain=0, restart=r)
    ledger = simulate(Exponential(M), policy, runs=50, failures=4000, rng=np.random.default_rng(2))
    low = runs.predicted(**known)[0]
    assert abs(ledger.shares()["useful"] - low) < 5 * ledger.standard_errors()["useful"] + 0.002


def test_exact_and_first_order_agree_where_little_is_lost_and_part_where_much_is():
    def gap(run):
        return runs.predicted(**runs.inputs(run))[0] - runs.predicted(exact=False, **runs.inputs(run))[0]

    assert 0 < gap("RSC-2 rate: 100,000 GPUs") < 0.01 and gap("FT-HSDP: synchronous") > 0.1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"M": None}, "give delta, M and r"), ({"m": (1, 2)}, "give delta, M and r"),
     ({"r": (0, 1)}, "r .*greater than 0"), ({"tau": (-1, 1)}, "tau .*greater than 0"),
     ({"delta": (float("nan"), 1)}, "delta .*greater than 0")],
)  # fmt: skip
def test_impossible_inputs_are_refused(wrong, says):
    given = {"delta": (1.0, 2.0), "M": (1e4, 1e5), "r": (10.0, 20.0)} | wrong
    with pytest.raises(ValueError, match=says):
        runs.predicted(**{name: both for name, both in given.items() if both is not None})


def test_an_unknown_run_is_refused_with_the_names_of_the_known_ones():
    with pytest.raises(ValueError, match="'PaLM'.*Llama 3; MegaScale"):
        runs.inputs("PaLM")


# --- Against the published values -------------------------------------------------------------------


def test_the_misses_are_the_known_ones():
    compared = runs.compared()
    assert list(compared["run"]) == PREDICTED
    assert set(compared.loc[compared["within"] == "no", "run"]) == set(MISSES)


def test_quoted_values_are_marked_where_they_are_compared():
    compared = runs.compared().set_index("run")["published"]
    assert {run for run in compared.index if compared[run].endswith("†")} == {r for r in PREDICTED if r.startswith("RSC-")}


def test_a_published_rate_predicts_the_pair_of_ft_hsdp_to_first_order():
    """By hand: failures of 12,500 nodes at the rate of RSC-1, each costing its stall and nothing else."""
    M = 24 * 60 / (6.50 / 1000 * 100_000 / 8)
    assert (round(100 * (1 - 10 / M)), round(100 * (1 - 3 / M))) == (44, 83)
    assert runs.in_percent(runs.published("FT-HSDP: synchronous")) == "44 %"
    assert runs.in_percent(runs.published("FT-HSDP: replicas")) == "80 %"


def test_a_write_of_ten_seconds_fits_both_statements_on_rsc1():
    for run in ("RSC-1: hourly saves", "RSC-1: saves every 5 min"):
        band = runs.predicted(**runs.inputs(run) | {"delta": (10.0, 10.0)})
        assert runs.overlap(band, runs.published(run))


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.4361, "44 %"), ((0.965, 0.975), "97 %"), ((0.8212, 0.9349), "82 to 93 %"), ((0.9, 1.0), "over 90 %"), (-0.2, "-20 %")],
)
def test_shares_are_printed_in_whole_percents(share, words):
    assert runs.in_percent(share) == words


def test_bands_and_published_values_are_drawn_where_they_are():
    rows = {"a": ((0.8, 0.9), (-0.1, 0.85), (0.84, 0.86)), "b": ((0.5, 0.6), (0.4, 0.6), (0.9, 1.0))}
    axes = figures.bands(rows).axes[0]
    drawn = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert drawn[:2] == [pytest.approx((0.8, 0.1)), pytest.approx((0.5, 0.1))]
    first, published, mark = (list(line.get_xdata()) for line in axes.lines[:3])
    assert (first, published, mark) == ([0, 0.85], [0.84, 0.86], [pytest.approx(0.85)])
    assert [text.get_text() for text in axes.get_yticklabels()] == list(rows)
