"""The data behind the pictures. Pixels are not compared: they differ between machines."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from youngdaly import figures, formulas
from youngdaly.evaluation import split, value

JOB = {"delta": 3.24, "M": 11160.0, "r": 600.0}
BEST = (2 * 3.24 * 11160) ** 0.5


def layers_of(figure):
    """The layers of a stack plot from the bottom: colour, x, lower edge, upper edge."""
    for layer in figure.axes[0].collections:
        if isinstance(layer, PolyCollection):
            corners = layer.get_paths()[0].vertices
            x = np.unique(corners[:, 0])
            at = [corners[corners[:, 0] == one, 1] for one in x]
            yield to_hex(layer.get_facecolor()[0]), x, np.array([y.min() for y in at]), np.array([y.max() for y in at])


def texts_of(figure):
    return [text.get_text() for text in figure.axes[0].texts]


# --- One vocabulary ---------------------------------------------------------------------------------


def test_names_colours_and_ink_are_of_one_ledger_with_restarts_at_the_bottom():
    ledger = split(BEST, **JOB)
    assert list(figures.COLOURS) == list(figures.INK) == list(figures.NAMES) == list(ledger)
    assert figures.STACK == ("restarts", "redone", "writing")
    assert len(set(figures.COLOURS.values())) == 4


@pytest.mark.parametrize("name", figures.COLOURS)
def test_words_on_a_colour_can_be_read(name):
    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(figures.COLOURS[name]), luminance(figures.INK[name])])
    assert (light + 0.05) / (dark + 0.05) > 4.5  # WCAG 2, level AA


# --- The main picture -------------------------------------------------------------------------------


def test_the_layers_are_restarts_redone_work_and_writing_with_their_heights():
    restarts, redone, writing = layers_of(figures.loss_against_interval(**JOB))
    assert [layer[0] for layer in (restarts, redone, writing)] == [figures.COLOURS[n] for n in figures.STACK]
    tau = restarts[1]
    assert tau[0] == pytest.approx(BEST / 100) and tau[-1] == pytest.approx(100 * BEST)
    heights = 600 / 11160 + 0 * tau, tau / 2 / 11160, 3.24 / tau
    for (_, _, low, high), height in zip((restarts, redone, writing), heights):
        assert high - low == pytest.approx(height)
    assert restarts[2] == pytest.approx(0 * tau)
    assert redone[2] == pytest.approx(restarts[3]) and writing[2] == pytest.approx(redone[3])


def test_the_top_of_the_stack_at_the_optimum_is_the_least_loss():
    *_, (_, tau, _, top) = layers_of(figures.loss_against_interval(**JOB))
    assert np.interp(BEST, tau, top) == pytest.approx(value(formulas.LEAST_LOSS, **JOB), rel=1e-4)
    assert top.min() == pytest.approx(value(formulas.LEAST_LOSS, **JOB), rel=1e-4)


def test_the_optimum_is_marked_and_named():
    figure = figures.loss_against_interval(**JOB)
    (mark,) = figure.axes[0].lines
    assert mark.get_xydata() == pytest.approx(np.array([[BEST, value(formulas.LEAST_LOSS, **JOB)]]))
    assert "best: 4.5 min\n7.8 % lost" in texts_of(figure)
    assert {"writing", "redone work", "restarts"} < set(texts_of(figure))


def test_the_axes_are_human():
    axes = figures.loss_against_interval(**JOB).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10 s", "1 min", "10 min", "1 h", "6 h"]
    assert axes.get_xscale() == "log" and axes.get_ylim() == (0, 0.2)


def test_the_flat_bar_ends_where_the_tolerated_loss_is_reached():
    _, bar = figures.loss_against_interval(**JOB, tolerated=0.1).axes[0].lines
    least = value(formulas.LEAST_LOSS, **JOB)
    shortest, longest = bar.get_xdata()
    assert shortest < BEST < longest
    for tau in (shortest, longest):
        assert 3.24 / tau + (tau / 2 + 600) / 11160 == pytest.approx(1.1 * least)


def test_where_first_order_means_nothing_no_share_is_printed():
    texts = texts_of(figures.loss_against_interval(delta=600, M=1000, r=600))
    assert "best: 18 min" in texts and not any("lost" in text for text in texts)


@pytest.mark.parametrize("name", JOB)
@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "3", None])
def test_an_impossible_job_gets_an_error_and_no_picture(name, bad):
    with pytest.raises(ValueError, match=rf"^{name} \(.*\) = "):
        figures.loss_against_interval(**JOB | {name: bad})


# --- The other pictures -----------------------------------------------------------------------------


def test_between_two_failures_everything_is_to_scale():
    axes = figures.between_failures(tau=2000.0, **JOB | {"delta": 100.0}).axes[0]
    spans = {}
    for bar in axes.collections:
        corners = bar.get_paths()[0].vertices[:, 0]
        spans[to_hex(bar.get_facecolor()[0])] = (corners.min(), corners.max())
    failure = 5 * (2000 + 100) + 1000  # the middle of the sixth interval comes closest to 11160
    assert spans == {
        figures.COLOURS["useful"]: (0, failure - 1000),
        figures.COLOURS["redone"]: (failure - 1000, failure),  # half an interval, all of it unsaved
        figures.COLOURS["restarts"]: (failure, failure + 600),
    }
    saves = [(bar.get_x(), bar.get_width(), to_hex(bar.get_facecolor())) for bar in axes.patches]
    assert saves == [(start, 100, figures.COLOURS["writing"]) for start in (2000, 4100, 6200, 8300, 10400)]
    assert axes.get_xlim() == (0, failure + 600)


@pytest.mark.parametrize("name", [*JOB, "tau"])
@pytest.mark.parametrize("bad", [0, -1, np.nan, "3"])
def test_impossible_times_between_failures_get_an_error(name, bad):
    with pytest.raises(ValueError, match=rf"^{name} \(.*\) = "):
        figures.between_failures(**JOB | {"tau": 300.0} | {name: bad})


@pytest.mark.parametrize("zoom", [True, False])
def test_ledgers_side_by_side(zoom):
    ledgers = {"as it is": split(BEST, **JOB), "short restart": split(BEST, **JOB | {"r": 120})}
    figure = figures.splits(ledgers, zoom)
    axes = figure.axes[0]
    names = list(figures.STACK) + ([] if zoom else ["useful"])
    assert [to_hex(bars[0].get_facecolor()) for bars in axes.containers] == [figures.COLOURS[n] for n in names]
    start = np.zeros(2)
    for name, bars in zip(names, axes.containers, strict=True):
        widths = [ledger[name] for ledger in ledgers.values()]
        assert [bar.get_x() for bar in bars] == pytest.approx(start)
        assert [bar.get_width() for bar in bars] == pytest.approx(widths)
        start += widths
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [figures.NAMES[n] for n in names]
    assert texts_of(figure) == (["7.8 %", "3.5 %"] if zoom else [])
    assert zoom or start == pytest.approx([1, 1])


def test_the_flat_bottom_marks_what_stays_within_the_tolerated_loss():
    axes = figures.flat_bottom(0.1).axes[0]
    band = axes.patches[0]
    for factor in (band.get_x(), band.get_x() + band.get_width()):
        assert (factor + 1 / factor) / 2 - 1 == pytest.approx(0.1)
    factor, extra = axes.lines[0].get_xydata().T
    assert extra == pytest.approx((factor + 1 / factor) / 2 - 1)
    assert texts_of(axes.figure) == ["within 10 %"]


@pytest.mark.parametrize("bad", [0, -0.1, np.nan, "0.1"])
def test_a_tolerated_loss_that_is_no_share_is_refused(bad):
    with pytest.raises(ValueError, match=r"^x \(.*\) = "):
        figures.flat_bottom(bad)
