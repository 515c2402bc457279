"""What publications print against what follows from the facts: which agree, which do not, and by how much.

A disagreement is a finding. These tests keep each one, with both numbers, so that nobody mends it in silence.
"""

import re

import pytest

from youngdaly import claims, formulas
from youngdaly.data import UNITS, fact, table
from youngdaly.evaluation import value

CLAIMS = table("claims").set_index("key")

# key: what is printed, what follows from the facts (in the unit of the row, by arithmetic written out here)
DISAGREE = {
    "write_time": ("3.3 s", 405e9 * 16 / 2e12),
    "slow_storage": ("60.5 %", 100 * (1 - (2 * 324 / 11160) ** 0.5 - 600 / 11160)),
    "gpu_faults": ("30.1 %", 100 * 148 / 419),
    "gpu_faults_roughly": ("roughly 30 percent", 100 * 148 / 419),
    "percent_column": ("94.9 % (our sum of the printed column)", 100),
    "gpu_related": ("58.7 %", 100 * (148 + 72 + 19 + 17 + 6 + 6) / 419),
    "hardware": ("about 78 %", 100 * (268 + 21 + 32) / 419),
    "daily_maintenance": ("at least one", 47 / 54),
    "once_a_year": ("every few hours", 365.25 * 24 * 60 / 16384),
    "bloom_checkpoint": ("2.3 TB", 176e9 * 14 / 1e12),
    "mlperf_checkpoint": ("5.29 TB", 405853388800 * 14 / 1e12),
    "dlrover_frequency": ("20 times", 250 / 10),
}
AGREE = {
    "state": ("6.5 TB", 6.48),
    "failure_interval": ("3.1 h", 54 * 24 / 419),
    "best_interval": ("4.5 min", (2 * 3.24 * 11160) ** 0.5 / 60),
    "lost": ("7.8 %", 100 * ((2 * 3.24 / 11160) ** 0.5 + 600 / 11160)),
    "effective": ("92.2 %", 100 - 100 * ((2 * 3.24 / 11160) ** 0.5 + 600 / 11160)),
    "restarts_of_loss": ("69 %", 100 * 600 / (600 + (2 * 3.24 * 11160) ** 0.5)),
    "short_restart": ("96.5 %", 100 - 100 * ((2 * 3.24 / 11160) ** 0.5 + 120 / 11160)),
    "calm_cluster": ("1.6 %", 100 * ((2 * 3.24 / 86400) ** 0.5 + 600 / 86400)),
    "reported_effective": ("higher than 90 %", 100 - 100 * ((2 * 3.24 / 11160) ** 0.5 + 600 / 11160)),
    "every_three_hours": ("roughly every three hours", 54 * 24 / 419),
    "unexpected": ("419", 466 - 47),
    "hbm3": ("17.2 %", 100 * 72 / 419),
    "tens_of_minutes": ("tens of minutes", (2 * 120 * 11160) ** 0.5 / 60),
}


def test_every_claim_is_recomputed_and_nothing_else():
    recomputed = claims.recomputed()
    assert set(recomputed) == set(CLAIMS.index) == set(AGREE) | set(DISAGREE)
    assert all(type(number) is float for number in recomputed.values())


@pytest.mark.parametrize("key", CLAIMS.index)
def test_a_claim_is_printed_and_recomputed_as_pinned_here(key):
    printed, number = (AGREE | DISAGREE)[key]
    assert CLAIMS.loc[key, "printed"] == printed
    assert claims.recomputed()[key] == pytest.approx(number)


@pytest.mark.parametrize("key", CLAIMS.index)
def test_the_verdict_of_the_table_is_the_computed_one(key):
    verdict = claims.compared().set_index("key").loc[key, "agrees"]
    assert verdict == CLAIMS.loc[key, "agrees"] == ("no" if key in DISAGREE else "yes")


@pytest.mark.parametrize("key", DISAGREE)
def test_every_disagreement_has_a_reason(key):
    assert len(CLAIMS.loc[key, "reason"]) > 20


@pytest.mark.parametrize("key", CLAIMS.index)
def test_the_range_of_a_printed_number_is_what_rounds_to_it(key):
    claim = CLAIMS.loc[key]
    assert claim["low"] <= claim["high"]
    number = re.match(rf"(\d+(?:\.(\d+))?) (?:{re.escape(claim['unit'])}|times)", claim["printed"])
    if number:
        half = 0.5 / 10 ** len(number[2] or "")
        assert [claim["low"], claim["high"]] == pytest.approx([float(number[1]) - half, float(number[1]) + half])


def test_the_comparison_can_be_limited_to_sources_in_the_order_asked_for():
    plate, llama3 = claims.compared("plate"), claims.compared("llama3")
    assert set(plate["source"]) == {"plate"} and set(llama3["source"]) == {"llama3"}
    assert list(claims.compared("llama3", "plate")["key"]) == [*llama3["key"], *plate["key"]]
    assert len(claims.compared(*set(CLAIMS["source"]))) == len(claims.compared()) == len(CLAIMS)


def test_an_unknown_source_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="source = 'llama4': choose from bloom_chronicles, dlrover, .*plate"):
        claims.compared("plate", "llama4")


def test_a_number_outside_the_printed_range_is_a_no(monkeypatch):
    number = claims.recomputed()
    for edge, verdict in [("low", "yes"), ("high", "yes"), (None, "no")]:
        best = CLAIMS.loc["best_interval", edge] if edge else 1.001 * CLAIMS.loc["best_interval", "high"]
        monkeypatch.setattr(claims, "recomputed", lambda best=best: number | {"best_interval": best})
        assert claims.compared().set_index("key").loc["best_interval", "agrees"] == verdict


# --- What the reasons say ---------------------------------------------------------------------------


def test_write_time_prints_as_published_only_from_the_rounded_state():
    assert f"{claims.recomputed()['write_time']:.2f}" == "3.24"
    assert 6.5e12 / fact("llama3_bandwidth") == 3.25  # rounded half up: 3.3


def test_the_printed_effective_time_of_slow_storage_is_that_of_a_two_hundredth():
    job = {"M": fact("llama3_failure_interval"), "r": fact("llama3_restart")}
    hundredth, two_hundredth = (1 - value(formulas.LEAST_LOSS, delta=n * 3.24, **job) for n in (100, 200))
    assert f"{100 * hundredth:.2f}" == "70.53"
    assert f"{100 * two_hundredth:.1f}" == "60.5"


def test_the_printed_gpu_percents_add_up_to_the_text_and_the_counts_do_not():
    causes = table("llama3_interruptions")
    gpu = causes[causes["category"] == "GPU"]
    assert gpu["printed_percent"].sum().round(1) == 58.7
    assert f"{100 * gpu['count'].sum() / causes['count'].sum():.1f}" == "64.0"
    assert f"{claims.recomputed()['gpu_faults']:.1f}" == "35.3"


def test_no_choice_of_rows_that_the_reason_names_is_about_78_percent_but_one():
    count = table("llama3_interruptions").groupby("category")["count"].sum()
    hardware = count[["GPU", "Host", "Unplanned Maintenance"]].sum()
    shares = [100 * (hardware + more) / count.sum() for more in (0, count["Unknown"], count["Network"])]
    assert [f"{share:.1f}" for share in shares] == ["76.6", "78.3", "85.0"]


def test_one_failure_per_device_year_is_not_the_rate_of_llama_3():
    assert f"{claims.recomputed()['once_a_year']:.0f} min" == "32 min"
    M = fact("llama3_window") / fact("llama3_unexpected")
    device = value(formulas.DEVICE_INTERVAL, M=M, N=fact("llama3_devices")) / UNITS["yr"]
    assert f"{device:.1f} years" == "5.8 years"


def test_two_printed_terabytes_are_binary():
    assert 176e9 * 14 / UNITS["GiB"] == pytest.approx(2294.77, abs=0.01)  # as the chronicles print it, in "GB"
    assert claims.recomputed()["mlperf_checkpoint"] * UNITS["TB"] / UNITS["GiB"] == pytest.approx(5292, abs=0.5)
