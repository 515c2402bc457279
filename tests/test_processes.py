"""Failure processes: their means, their shapes, and what each refuses."""

import numpy as np
import pytest
from scipy import stats

from youngdaly.processes import Bursts, Exponential, Recorded, Weibull

RNG_SEED = 1


@pytest.mark.parametrize(
    "process",
    [Exponential(10.0), Weibull(10.0, 0.7), Weibull(10.0, 3.0), Bursts(10.0, 4.0, 0.5), Recorded(np.array([1.0, 19.0]))],
)
def test_the_mean_of_the_gaps_is_the_failure_interval(process):
    gaps = process.draw(np.random.default_rng(RNG_SEED), 400_000)
    assert gaps.mean() == pytest.approx(process.mean, abs=5 * gaps.std() / np.sqrt(gaps.size))


def test_bursts_of_one_are_random_failures():
    gaps = Bursts(10.0, 1.0, 0.5).draw(np.random.default_rng(RNG_SEED), 20_000)
    assert stats.kstest(gaps, "expon", args=(0, 10.0)).pvalue > 0.01


def test_bursts_have_their_size():
    gaps = Bursts(1000.0, 4.0, 0.01).draw(np.random.default_rng(RNG_SEED), 100_000)
    assert (gaps < 1).mean() == pytest.approx(3 / 4, abs=0.01)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bursts(10.0, 0.5, 1.0), "size = 0.5: give a number of 1 or more"),
        (lambda: Bursts(10.0, 4.0, 10.0), "gap = 10.0: give a gap shorter than mean = 10.0"),
        (lambda: Bursts(0.0, 4.0, 1.0), "mean = 0.0: give a finite number greater than 0"),
        (lambda: Weibull(10.0, -1.0), "shape = -1.0"),
        (lambda: Recorded([0.0, 0.0]), "gaps = .*not all of them 0"),
    ],
)
def test_a_process_that_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
