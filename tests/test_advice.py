"""From a log to advice: the two logs of the book, the numbers that are filled in, and logs at the edge."""

import re

import nbformat
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from youngdaly import advice, formulas
from youngdaly.cases import NUMBERS, PUBLISHED, read_case
from youngdaly.data import DATA, fact, table
from youngdaly.evaluation import value
from youngdaly.failures import survival
from youngdaly.figures import failures_over_time, gaps_that_last
from youngdaly.logs import USED

TOLERATED = fact("tolerated")


def everything(case):
    """All tables and sentences about a case, from the name of the function."""
    looks = advice.randomness(case, np.random.default_rng(0))
    replays = advice.replayed(case)
    return {
        "fates": advice.fates(case), "inputs": advice.inputs(case), "notes": advice.notes(case),
        "how_often": advice.how_often(case), "causes": advice.causes(case),
        "looks": looks, "trust": advice.trust(looks),
        "advice": advice.advice(case, TOLERATED), "intervals": advice.intervals(case, TOLERATED),
        "bill": advice.bill(case), "lost_work": advice.lost_work(case),
        "against_formula": advice.against_formula(case, replays), "replayed": advice.what_was_replayed(case),
        "levers": advice.levers(case), "targets": advice.targets(case), "keep": advice.keep(case),
        "summary": advice.summary(case, looks, TOLERATED),
    }  # fmt: skip


def _looks(case):
    return advice.randomness(case, np.random.default_rng(0))


@pytest.fixture
def log(tmp_path):
    """A function that writes a log of days, counted from a start, and returns its path."""

    def write(days, tail=""):
        path = tmp_path / "days.csv"
        times = np.datetime64("2022-01-01T00:00:00") + np.round(np.array(days) * 86400).astype("timedelta64[s]")
        path.write_text("time,planned\n2022-01-01,yes\n" + "".join(f"{time},no\n" for time in times) + tail)
        return str(path)

    return write


# --- The logs of the book -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_tables_of_incidents_are_in_order_and_each_row_has_a_source(name):
    rows = table(name)
    assert rows["time"].is_monotonic_increasing and rows["planned"].isin(["yes", "no"]).all()
    assert rows["cause"].notna().all() and rows["event"].notna().all()
    failures = {"hardware", "numerical", "storage", "network", "software", "maintenance"}
    assert set(rows.loc[rows["planned"] == "no", "cause"]) <= failures


def test_what_the_logs_of_the_book_hold():
    glm, bloom = map(read_case, PUBLISHED)
    counts = glm.log.failures["cause"].value_counts().to_dict()
    assert counts == {"hardware": 9, "numerical": 9, "storage": 1, "network": 1}
    assert len(glm.log.restarts) == 17 and glm.log.running < (glm.log.end - glm.log.start).total_seconds()
    assert bloom.log.failures["cause"].value_counts().to_dict() == {"software": 3, "hardware": 1, "maintenance": 1}
    assert sorted(bloom.log.lost / 3600) == [6, 7.3, 11, 18]


def test_the_advice_for_glm130b():
    words = everything(read_case("glm130b_incidents"))
    assert "**Save every 58 steps (1.4 h).** Every 100 steps (2.5 h), as now, is nearly as good" in words["summary"]
    assert "halve the restart time" in words["summary"] and "69 % of it to restarts" in words["summary"]
    assert "Keep 4 checkpoints" in words["keep"]
    assert set(words["looks"]["at random?"]) == {"nothing against it"}


def test_the_advice_for_bloom():
    """Its diary: hangs in the evaluation, noticed after many hours."""
    words = everything(read_case("bloom176b_incidents", price_per_device_hour=2.0))
    assert "before anybody noticed" in words["lost_work"] and "notice failures at once" in words["summary"]
    assert "too few to tell" in words["looks"].iloc[0, 1]
    assert "a day, in the currency of the price" in words["bill"]
    assert "a day, in the currency of the price" in words["advice"]


def test_the_summary_states_the_loss_by_the_log_where_the_log_knows_better():
    """So what noticing failures at once would gain is no more than the loss that is stated."""
    summary = advice.summary(bloom := read_case("bloom176b_incidents"), _looks(bloom), TOLERATED)
    shares = dict(re.findall(r"(lost by the formula|By the log it is|notice failures at once)\D*?([\d.]+) %", summary))
    by_formula = float(re.search(r"([\d.]+) % of the time is lost by the formula", summary)[1])
    assert by_formula < float(shares["notice failures at once"]) < float(shares["By the log it is"])
    glm = read_case("glm130b_incidents")
    assert "By the log" not in advice.summary(glm, _looks(glm), TOLERATED)


# --- Numbers that are filled in -------------------------------------------------------------------------------------
def test_numbers_that_are_given_win_over_published_ones():
    case = read_case("bloom176b_incidents", write_s=10, devices=None)
    assert case.numbers["write_s"] == 10 and case.origin["write_s"] == "given"
    assert case.numbers["devices"] == fact("bloom_devices") and case.origin["devices"] == "published"
    assert case.origin["restart_s"] == "assumed"
    assert case.numbers["interval_s"] == 100 * 105


def test_the_write_time_is_state_over_bandwidth(log):
    case = read_case(log([3, 5]), restart_s=60, state_bytes=6e12, bandwidth_bytes_per_s=2e12)
    assert case.numbers["write_s"] == 3.0 and set(case.numbers) < set(NUMBERS)
    agreed = read_case(log([3, 5]), restart_s=60, write_s=3.01, state_bytes=6e12, bandwidth_bytes_per_s=2e12)
    assert agreed.numbers["write_s"] == 3.01
    given = read_case("glm130b_incidents", state_bytes=6e12, bandwidth_bytes_per_s=2e12)
    assert given.numbers["write_s"] == 3.0  # what is given wins over what is published


def test_a_price_without_devices_is_said_not_to_be_used(log):
    alone = read_case(log([3, 5]), restart_s=60, write_s=5, price_per_device_hour=2)
    assert "not used" in advice.inputs(alone).set_index("quantity").loc["price of a device-hour", "from"]
    both = read_case(log([3, 5]), restart_s=60, write_s=5, price_per_device_hour=2, devices=8)
    assert "not used" not in "".join(advice.inputs(both)["from"])


def test_the_restart_time_is_the_mean_of_the_log():
    glm = read_case("glm130b_incidents")
    assert glm.numbers["restart_s"] == pytest.approx(glm.log.restarts.mean())
    assert "17 of 20" in glm.origin["restart_s"]


@pytest.mark.parametrize("step", [1.0, 88.5, 3000.0, 1e5])
def test_no_other_number_of_steps_loses_less(log, step):
    case = read_case(log([1, 3, 4]), write_s=30, restart_s=600, step_s=step)
    steps = case.advised / step
    assert steps == pytest.approx(round(steps)) and steps >= 1
    assert all(case.loss(case.advised) <= case.loss(other * step) for other in (steps - 1, steps + 1) if other > 0)


def test_without_a_step_the_best_interval_is_advised(log):
    case = read_case(log([1, 3, 4]), write_s=30, restart_s=600)
    assert case.advised == case.best == pytest.approx(value(formulas.YOUNG, delta=30.0, M=4 / 3 * 86400))


@given(days=st.lists(st.floats(0.01, 90), min_size=1, max_size=6), write=st.floats(0.1, 300), r=st.floats(0.1, 600),
       censored=st.booleans())  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_the_claims_of_the_chapter_hold_for_any_log(tmp_path_factory, days, write, r, censored):
    """What its cells assert, taken from the chapter."""
    path = tmp_path_factory.mktemp("any") / "any.csv"
    times = np.datetime64("2022-01-01") + np.cumsum(np.array(days) * 86400).astype("timedelta64[s]")
    path.write_text("time,planned\n2022-01-01,yes\n" + "".join(f"{time},no\n" for time in times))
    case = read_case(str(path), {"window_end": "2024-01-01"} if censored else None, write_s=write, restart_s=r)
    assume(case.least_loss() < 0.9)
    *_, advised, shorter = advice.replayed(case).values()
    cells = nbformat.read(DATA.parent / "chapters" / "your_cluster.ipynb", as_version=4).cells
    asserts = [line for cell in cells if cell.cell_type == "code" for line in cell.source.splitlines()
               if line.startswith("assert") and "fates" not in line]  # fmt: skip
    assert len(asserts) == 3
    for line in asserts:
        exec(line, {"case": case, "advised": advised, "shorter": shorter})


# --- What the tables say --------------------------------------------------------------------------------------------
def test_targets_are_met(log):
    """Put back in, each value that is asked for loses just the target."""
    case = read_case(log([1, 3, 4]), write_s=30, restart_s=600, target_loss=0.025, state_bytes=30e9)
    rows = advice.targets(case).set_index("change only the")
    assert rows.loc["storage bandwidth", "now"] == "write in 30 s, 1 GB/s"
    minutes, unit = rows.loc["restart time", "for 2.50 % lost"].split()
    assert unit == "min" and case.least_loss(r=float(minutes) * 60) == pytest.approx(0.025, rel=0.02)
    hopeless = read_case(log([1, 3, 4]), write_s=30, restart_s=6000, target_loss=0.001)
    assert advice.targets(hopeless).iloc[0, -1] == "none suffices"


def test_levers_come_in_order_and_keep_counts(log):
    case = read_case(log([1, 3, 4]), write_s=30, restart_s=600, devices=100, detection_s=2.5 * 3600)
    gained = [float(text.split()[0]) for text in advice.levers(case)["gained"]]
    assert gained == sorted(gained, reverse=True)
    assert f"Keep {np.ceil(2.5 * 3600 / case.advised) + 1:.0f} checkpoints" in advice.keep(case)


def test_rare_causes_are_shown_together(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("time,cause\n" + "".join(f"2022-01-{day:02d},c{day if day > 5 else 0}\n" for day in range(1, 29)))
    causes = advice.causes(read_case(str(path), write_s=1, restart_s=1), at_most=4)
    assert causes["failures"].sum() == 27 and causes.iloc[0].tolist()[:2] == ["c0", 4]
    assert causes.iloc[-1, 0].endswith("others") and len(causes) == 4


def test_what_a_log_says_is_shown_as_it_stands(tmp_path):
    """A table keeps its columns, and nothing in a log becomes a part of the page."""
    path = tmp_path / "odd.csv"
    path.write_text("time,cause,<b>\n2022-01-01,,\n2022-01-02,<script>|*a_b*,\n")
    case = read_case(str(path), write_s=1, restart_s=1, reading={"keep_only": "<b>="})
    assert advice.causes(case).iloc[0, 0] == r"&lt;script&gt;\|\*a\_b\*"
    assert "<b>" not in advice.notes(case)


def test_failures_in_bursts_are_pointed_out(log):
    days = np.add.outer(np.arange(0, 60, 6), [1, 1.01, 1.02]).ravel()
    words = everything(read_case(log(days), write_s=30, restart_s=600))
    assert "no" in set(words["looks"]["at random?"])
    assert "do not come at random" in words["trust"] and "do not come at random" in words["summary"]


@pytest.mark.parametrize("days", [[1], [1, 2], np.arange(1, 10), np.cumsum(np.geomspace(1e-3, 30, 12))],
                         ids=["one", "two", "regular", "wild"])  # fmt: skip
@pytest.mark.parametrize("numbers", [
    {"write_s": 1, "restart_s": 1},
    {"write_s": 600, "restart_s": 3600, "step_s": 9999, "interval_s": 50, "devices": 1, "detection_s": 1},
])  # fmt: skip
def test_logs_at_the_edge_still_get_advice(log, days, numbers):
    assert all(len(words) for words in everything(read_case(log(days), **numbers)).values())


@pytest.mark.parametrize(("now", "worth"), [
    (10, "as it is now, more than all of the time is lost, to first order."), (86400, "% of the time."),
])  # fmt: skip
def test_a_bad_interval_is_the_first_thing_to_change(log, now, worth):
    case = read_case(log([1, 3, 4]), write_s=30, restart_s=60, interval_s=now)
    summary = advice.summary(case, _looks(case), TOLERATED).splitlines()
    assert "is not good" in summary[0] and "of the time is then lost" in summary[2]
    assert f"**save every {case.named(case.advised)}**" in summary[-1] and summary[-1].endswith(worth)
    assert not re.search(r"\ball more\b|\b0\.00 %|than all more", "".join(summary) + advice.advice(case, TOLERATED))
    if now == 10:
        assert "more than all of the time is lost with it, to first order" in summary[0]
        assert "gain" not in advice.advice(case, TOLERATED)


def test_what_costs_next_to_nothing_is_not_called_nothing(log):
    case = read_case(log(range(1, 400)), write_s=1e-3, restart_s=60)
    assert "failure interval better costs less than 0.01 %" in advice.advice(case, TOLERATED)


def test_planned_stops_are_said_to_be_left_out():
    glm = read_case("glm130b_incidents")
    planned = glm.log.rows[glm.log.rows["fate"] == "planned stop"]
    told = planned["end"].count()
    words = f"Planned stops are left out ({len(planned)}, 1.3 d of downtime in the {told} that state it)"
    assert words in advice.bill(glm) and words in advice.summary(glm, _looks(glm), TOLERATED)
    bloom = read_case("bloom176b_incidents")
    assert "Planned stops are left out (9)." in advice.bill(bloom)


def test_the_pictures_show_the_log():
    log = read_case("glm130b_incidents").log
    line, stairs = failures_over_time(log.gaps, log.unfinished).axes[0].lines
    assert line.get_xydata()[-1].tolist() == [log.running, 20] and stairs.get_xydata()[-1].tolist() == [log.running, 20]
    assert stairs.get_xdata()[1:-1] == pytest.approx(np.cumsum(log.gaps))
    times, shares = survival(log.gaps, log.unfinished)
    random, stairs = gaps_that_last(times, shares, 2.0 * 86400).axes[0].lines
    assert stairs.get_xdata() == pytest.approx(times) and stairs.get_ydata()[:-1] == pytest.approx(shares[:-1])
    assert random.get_ydata() == pytest.approx(np.exp(-random.get_xdata() / (2.0 * 86400)))


# --- Bad input ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("numbers", "message"), [
    ({}, "write_s = None: give the write time"),
    ({"state_bytes": 1e12}, "write_s = None: give .*bandwidth_bytes_per_s"),
    ({"write_s": 5}, "restart_s = None: the log does not say"),
    ({"write_s": -5, "restart_s": 1}, "write_s = -5"),
    ({"write_s": 5, "state_bytes": 6e12, "bandwidth_bytes_per_s": 2e12},
     "write_s = 5, but state_bytes over bandwidth_bytes_per_s is 3 s"),
    ({"write_s": "5"}, "write_s = '5'"),
    ({"write_s": 5, "restart_s": 1, "target_loss": 1.5}, "target_loss = 1.5: give a share of time below 1"),
    ({"writes": 5}, "writes = 5: there are only write_s"),
    ({"write_s": 5, "restart_s": 1, "reading": {"zones": "UTC"}}, "reading = .*zones.*options among columns"),
    ({"write_s": 5, "restart_s": 1, "reading": 3}, "reading = 3: give a dict"),
])  # fmt: skip
def test_what_is_missing_or_wrong_is_named(log, numbers, message):
    with pytest.raises(ValueError, match=message):
        read_case(log([1, 3]), **numbers)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_log_is_needed(name):
    with pytest.raises(ValueError, match="log = .*glm130b_incidents"):
        read_case(name)


def test_a_log_without_failures_says_what_can_still_be_concluded(log):
    path = log([], "2022-02-01,yes\n")
    with pytest.raises(ValueError, match=r"no row counts as a failure \(2 planned stop\).*at least 8.4 d .*2.1 h"):
        read_case(path, write_s=40)


def test_a_job_that_cannot_get_on_is_told_so(log):
    case = read_case(log([0.1, 0.2, 0.3]), write_s=600, restart_s=8640)
    with pytest.raises(ValueError, match="is no share of time"):
        advice.bill(case)
    assert USED in set(case.log.rows["fate"])
