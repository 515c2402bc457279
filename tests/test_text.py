"""Numbers as words: right at the seams between units, and never without a meaning."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from youngdaly.data import UNITS
from youngdaly.text import answer, duration, markdown, percent, size

MINUTE, HOUR, DAY, YEAR = (UNITS[unit] for unit in ("min", "h", "d", "yr"))


@pytest.mark.parametrize("seconds, text", [
    (0, "0 s"), (3.24, "3.2 s"), (0.02, "0.02 s"), (1e-7, "0.0000001 s"), (268.9, "4.5 min"), (11160, "3.1 h"),
    (59.4, "59 s"), (59.5, "1 min"), (59.99, "1 min"), (60, "1 min"), (61, "1 min"), (90, "1.5 min"),
    (59.4 * MINUTE, "59 min"), (59.99 * MINUTE, "1 h"), (HOUR, "1 h"), (23.4 * HOUR, "23 h"), (DAY - 1, "1 d"),
    (DAY, "1 d"), (1.5 * DAY, "1.5 d"), (364 * DAY, "364 d"), (YEAR, "1 yr"), (10**12, "31,688 yr"),
])  # fmt: skip
def test_a_duration_is_in_the_largest_unit_that_leaves_at_least_one(seconds, text):
    assert duration(seconds) == text


def test_a_duration_shows_the_digits_asked_for():
    assert [duration(268.9, n) for n in (1, 2, 3, 4)] == ["4 min", "4.5 min", "4.48 min", "4.482 min"]
    assert [duration(59.95, n) for n in (2, 3, 4)] == ["1 min", "1 min", "59.95 s"]
    assert duration(11160, 6) == "3.1 h"  # no trailing zeros


@pytest.mark.parametrize("number, text", [
    (0, "0 B"), (1, "1 B"), (999, "999 B"), (999.6, "1 kB"), (1000, "1 kB"), (6.48e12, "6.48 TB"),
    (999.4e9, "999 GB"), (999.9e9, "1 TB"), (1e12, "1 TB"), (1.5e18, "1.5 EB"), (1e21, "1,000 EB"), (0.5, "0.5 B"),
])  # fmt: skip
def test_a_size_in_decimal_units(number, text):
    assert size(number) == text


@pytest.mark.parametrize("number, text", [
    (1023, "1,023 B"), (1024, "1 KiB"), (2**30, "1 GiB"), (2**40 - 1, "1 TiB"), (2**40, "1 TiB"),
    (1023 * 2**30, "1,023 GiB"), (1023.9 * 2**30, "1 TiB"), (6.48e12, "5.89 TiB"), (2**70, "1,024 EiB"),
])  # fmt: skip
def test_a_size_in_binary_units(number, text):
    assert size(number, binary=True) == text


@given(st.floats(1e-3, 1e20), st.integers(2, 6), st.sampled_from([duration, size]))
def test_what_is_written_can_be_read_back(number, significant, written):
    digits, unit = written(number, significant=significant).split()
    sizes = UNITS | {prefix + "B": 1000.0**power for power, prefix in enumerate("kMGTPE", 1)}
    read = float(digits.replace(",", "")) * sizes[unit]
    assert read == pytest.approx(number, rel=0.51 * 10 ** (1 - significant))
    assert "e" not in digits and (unit in ("s", "B") or float(digits.replace(",", "")) >= 1)


@pytest.mark.parametrize("share, text", [
    (0, "0.0 %"), (1, "100.0 %"), (0.9221, "92.2 %"), (0.00004, "0.0 %"), (0.99996, "100.0 %"),
    (np.float64(0.5), "50.0 %"),
])  # fmt: skip
def test_a_share_in_percent(share, text):
    assert percent(share) == text


def test_a_share_shows_the_decimals_asked_for():
    assert [percent(0.92214, n) for n in (0, 1, 2, 3)] == ["92 %", "92.2 %", "92.21 %", "92.214 %"]


@pytest.mark.parametrize("bad", [-1, -1e-9, np.nan, np.inf, -np.inf, "60", None, True, 1j, [60]])
def test_what_is_no_amount_is_refused(bad):
    for function, name in [(duration, "seconds"), (size, "number")]:
        with pytest.raises(ValueError) as error:
            function(bad)
        assert str(error.value) == f"{name} = {bad!r}: give a finite number, 0 or more"


@pytest.mark.parametrize("bad", [-0.01, 1.01, 92.2, np.nan, np.inf, "0.5", None, True])
def test_what_is_no_share_is_refused(bad):
    with pytest.raises(ValueError) as error:
        percent(bad)
    assert str(error.value) == f"share = {bad!r}: give a share of time, from 0 to 1"


def test_a_table_shows_its_columns_under_their_names_and_no_index():
    rows = pd.DataFrame({"source": ["the plate"], "printed": ["3.30 s"], "digits": ["3.30"]})
    head, _, body = markdown(rows, printed="published").data.splitlines()
    assert [cell.strip() for cell in head.strip("|").split("|")] == ["source", "published", "digits"]
    cells = [cell.strip(" ") for cell in body.strip("|").split("|")]
    assert cells == ["the plate", "3.30\N{NO-BREAK SPACE}s", "3.30"]  # a quantity stays on one line, and is no float


@pytest.mark.parametrize("largest, name, part", [
    ("writing", "writing", "75 %"), ("redone", "redone work", "75 %"), ("restarts", "restarts", "75 %"),
])  # fmt: skip
def test_the_answer_names_what_dominates_the_loss(largest, name, part):
    shares = {"useful": 0.92, "writing": 0.01, "redone": 0.01, "restarts": 0.01, largest: 0.06}
    assert answer(268.9, shares).startswith("Save every 4.5 min and 92.0 % of the time is effective training. ")
    assert answer(268.9, shares).endswith(f"The largest part of the loss is {name}: {part} of it.")
    assert "8.0 % is lost" in answer(268.9, shares)


@pytest.mark.parametrize("rounding", [-1e-12, 0, 1e-12])
def test_the_answer_names_both_where_two_parts_of_the_loss_are_equal(rounding):
    shares = {"useful": 0.92, "writing": 0.03, "redone": 0.03 * (1 + rounding), "restarts": 0.02}
    assert answer(268.9, shares).endswith(
        "The largest part of the loss is writing and redone work, equally: 75 % of it together."
    )
