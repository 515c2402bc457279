"""The workshop page in a real browser: its numbers, its words, its controls, and what it does without scripts."""

import gzip
import json
import re
from math import log
from urllib.parse import quote

import numpy as np
import pytest
from book import SITE
from browsing import DESKTOP, NARROWEST, PHONE, UNFOLD, too_wide, violations

from youngdaly import formulas
from youngdaly.data import fact
from youngdaly.evaluation import exact_split, needed, value
from youngdaly.printing import PRINTED, first_order_answer, presets
from youngdaly.text import answer, duration, percent, rate, size

PAGE = "chapters/workshop.html"
FILES = SITE / "_static" / "workshop"
PRESETS = presets()
LLAMA3 = {"delta": 3.24, "M": fact("llama3_failure_interval"), "r": fact("llama3_restart")}

# Log-uniform between these; times are such that e^(τ/M) stays a float.
RANGES = {
    "tau": (1, 3e5), "delta": (1e-2, 1e4), "M": (1e3, 1e8), "r": (1, 1e4), "s": (1e-2, 1e2), "D": (1e-2, 1e4),
    "P": (1e6, 1e13), "b": (1, 32), "S": (1e9, 1e15), "B": (1e8, 1e14), "N": (1, 1e6), "m": (1e5, 1e10),
    "L": (1e-4, 1), "c": (1, 1e6),
}  # fmt: skip
STRANGE = re.compile(r"NaN|Infinity|undefined|null|\[object")


@pytest.fixture
def open_page(window, site):
    """A function that opens the workshop with a query and waits until it lives."""

    def opened(query="", width=DESKTOP, scheme="light"):
        page = window(width, scheme)
        page.goto(f"{site}/{PAGE}{query}")
        page.wait_for_selector("#wk[data-ready]")
        return page

    return opened


def said(page, name="answer"):
    return page.locator(f"#wk-{name}").text_content()


def fill(page, key, text):
    page.locator(f"#wk-{key}").fill(text)
    page.keyboard.press("Enter")


def problem(page, key):
    return page.locator(f"#wk-{key}-problem").text_content()


def unfold(page):
    """Open everything there is to open on the page."""
    page.evaluate(UNFOLD)
    for box in page.locator("[data-open]").all():
        box.check()


# --- Numbers ------------------------------------------------------------------------------------------------


def test_printed_functions_agree_with_numpy(open_page):
    page, count, random = open_page(), 10_000, np.random.default_rng(20240501)
    given = {name: np.exp(random.uniform(*np.log(ends), count)) for name, ends in RANGES.items()}
    script = """([given, names]) => {
      const { formulas } = workshop.book;
      const rows = given.M.map((_, i) => Object.fromEntries(Object.keys(given).map(key => [key, given[key][i]])));
      return Object.fromEntries(names.map(name => [name, rows.map(formulas[name])]));
    }"""
    printed = page.evaluate(script, [{name: numbers.tolist() for name, numbers in given.items()}, PRINTED])
    worst = {}
    for name in PRINTED:
        formula = getattr(formulas, name)
        expected = value(formula, **{str(symbol): given[str(symbol)] for symbol in formula.free_symbols})
        difference = np.abs(np.array(printed[name]) - expected)
        share = name.startswith("EXACT_") and name != "EXACT_BEST"
        worst[name] = float(np.max(difference if share else difference / expected))
        assert worst[name] <= (1e-15 if share else 2e-15), worst
    print(worst)


def test_text_is_that_of_the_book(open_page):
    page, random = open_page(), np.random.default_rng(7)
    numbers = [0.59, 59.99, 3599, 86399, 999.9e9, 1e12, *np.exp(random.uniform(log(1e-3), log(1e15), 3000)).tolist()]
    shares = random.uniform(0, 1, 3000).tolist()
    script = "([name, numbers]) => numbers.map(n => workshop.units[name](n))"
    assert page.evaluate(script, ["duration", numbers]) == list(map(duration, numbers))
    assert page.evaluate(script, ["size", numbers]) == list(map(size, numbers))
    assert page.evaluate(script, ["rate", numbers]) == list(map(rate, numbers))
    assert page.evaluate(script, ["percent", shares]) == list(map(percent, shares))


@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_says_what_python_says(open_page, key):
    page = open_page()
    page.select_option("#wk-preset", key)
    assert said(page) == answer(*first_order_answer(PRESETS[key][1]))
    assert "share of elapsed time" in said(page, "definition")
    assert said(open_page(f"?preset={key}")) == said(page)


@pytest.mark.parametrize("bandwidth", ["2 TB/s", "20 GB/s"])
def test_the_exact_model_says_what_python_says(open_page, bandwidth):
    page = open_page()
    fill(page, "B", bandwidth)
    page.check("#wk-exact")
    job = LLAMA3 | {"delta": 324.0 if bandwidth == "20 GB/s" else 3.24}
    tau = value(formulas.EXACT_BEST, delta=job["delta"], M=job["M"])
    assert said(page) == answer(tau, exact_split(tau, **job))
    assert "Exact for failures at a constant rate" in said(page, "definition")


def test_flat_bottom_and_targets_say_what_python_says(open_page):
    page = open_page()
    ends = [value(e, x=fact("tolerated"), **LLAMA3) for e in (formulas.SHORTEST, formulas.LONGEST)]
    assert f"from {duration(ends[0])} to {duration(ends[1])} " in said(page, "bottom")
    page.locator("#wk-aim summary").click()
    fill(page, "target", "94 %")
    bandwidth = needed("B", 0.06, S=6.48e12, M=LLAMA3["M"], r=LLAMA3["r"])
    restart = needed("r", 0.06, delta=3.24, M=LLAMA3["M"])
    interval = needed("M", 0.06, delta=3.24, r=LLAMA3["r"])
    text = said(page, "needed")
    assert f"Bandwidth: at least {rate(bandwidth)}, now 2 TB/s." in text
    assert f"Restart time: at most {duration(restart, 3)}, now 10 min." in text
    assert f"Failure interval: at least {duration(interval, 3)}, now 3.1 h." in text
    fill(page, "target", "98 %")
    assert said(page, "needed").count("cannot do it alone") == 2
    page.get_by_role("button", name="Use it").first.click()
    assert "98.0 % of the time is effective" in said(page)


def test_steps_and_money(open_page):
    page = open_page()
    page.locator("#wk-extras summary").click()
    fill(page, "step", "10 s")
    fill(page, "price", "40,000")
    assert said(page, "steps") == "In steps of 10 s: save every 27 steps (4.5 min), 7.8 % lost."
    assert "The lost time costs 74,700 a day" in said(page, "money")
    assert re.search(r"Halve the restart time helps most: 2\.7 points, worth 25,800 a day", said(page, "help"))
    fill(page, "step", "")
    fill(page, "price", "")
    assert not page.locator("#wk-steps").is_visible() and not page.locator("#wk-money").is_visible()


def test_levers_do_what_they_say(open_page):
    page = open_page()
    before = float(re.search(r"and ([\d.]+) %", said(page))[1])
    lever = page.locator(".wk-lever", has_text="Halve the restart time")
    gain = float(re.search(r"\+([\d.]+) points", lever.text_content())[1])
    lever.click()
    assert float(re.search(r"and ([\d.]+) %", said(page))[1]) == pytest.approx(before + gain, abs=0.11)
    assert page.locator("#wk-r").input_value() == "5 min"
    assert page.locator(".wk-ghost").is_visible() and "Dotted: where you started." in said(page, "bottom")
    page.locator(".wk-lever", has_text="Double the bandwidth").click()
    assert page.locator("#wk-B").input_value() == "4 TB/s"
    page.locator("#wk-reset").click()
    assert said(page) == answer(*first_order_answer(PRESETS["llama3"][1]))
    assert not page.locator(".wk-ghost").is_visible()


def test_parts_add_up_to_what_they_are_parts_of(open_page):
    page = open_page()
    whole = said(page)
    for total in ("delta", "M", "r"):
        page.locator(f'[data-open="{total}"]').set_checked(total != "delta")
        assert said(page) == whole
    fill(page, "N", "32,768")
    assert page.locator("#wk-M").input_value() == "1.55 h"
    for part in ("detect", "replace", "initialise", "load", "warmup"):
        fill(page, part, "30 s")
    assert page.locator("#wk-r").input_value() == "2.5 min"
    fill(page, "r", "5 min")
    assert page.locator("#wk-detect").input_value() == "1 min"


def test_asynchronous_saves_have_a_kink_at_the_drain(open_page):
    page = open_page("?s=0.1s&delta=324s")
    assert said(page).startswith("Save every 5.4 min and 90.2 %")
    assert "The drain sets the interval." in said(page, "drain")
    assert page.locator("#wk-exact").is_disabled()
    fill(page, "tau", "82 s")
    assert "Too often." in said(page, "drain") and "no share of time" in said(page)
    page.locator('[data-open="s"]').uncheck()
    assert not page.locator("#wk-drain").is_visible() and page.locator("#wk-exact").is_enabled()


def test_outside_its_domain_first_order_says_so(open_page):
    page = open_page("?M=10min")
    assert "That is no share of time: failures come too fast for first order." in said(page)
    assert "Exact, for failures at a constant rate:" in said(page, "definition")
    page.check("#wk-exact")
    assert "of the time is effective training" in said(page)


# --- Fields and links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("key, text, changed", [
    ("P", "70B", "0.56 s"), ("P", "70,000,000,000", "0.56 s"), ("b", "14", "2.8 s"), ("B", "50 GB/s", "2.2 min"),
    ("delta", "2 min", "2 min"), ("M", "1 d", None), ("r", "90 s", None), ("r", "0.5 h", None),
])  # fmt: skip
def test_typed_units_are_understood(open_page, key, text, changed):
    page = open_page()
    before = said(page)
    fill(page, key, text)
    assert said(page) != before and problem(page, key) == ""
    assert page.locator(f"#wk-{key}").input_value() == text
    if changed:
        shown = float(page.locator("#wk-delta").input_value().split()[0])
        assert shown == pytest.approx(float(changed.split()[0]), rel=0.03)


@pytest.mark.parametrize("key, text", [
    ("r", "5 apples"), ("r", "10"), ("r", ""), ("r", "-3 min"), ("r", "NaN"), ("M", "3,1 h"), ("M", "0 h"),
    ("B", "50 Gb/s"),
    ("P", "<img src=x onerror=alert(1)>"), ("b", "1" * 10_000), ("tau", "0 s"), ("tau", "1e400 s"), ("P", "405 GB"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_beside_the_field(open_page, key, text):
    page = open_page()
    before, drawn = said(page), page.locator(".wk-area").first.get_attribute("d")
    fill(page, key, "x" if text == "" else text)
    if text == "":
        fill(page, key, "")
    field = page.locator(f"#wk-{key}")
    assert field.get_attribute("aria-invalid") == "true"
    assert "Kept:" in problem(page, key) and len(problem(page, key)) < 200
    assert (said(page), page.locator(".wk-area").first.get_attribute("d")) == (before, drawn)
    assert said(page, "said") == problem(page, key)
    assert page.evaluate("document.querySelectorAll('#wk img, #wk script').length") == 0
    field.focus()
    page.keyboard.press("Escape")
    assert problem(page, key) == "" and field.get_attribute("aria-invalid") is None and field.input_value() != text


@pytest.mark.parametrize("query", [
    "?preset=__proto__", "?preset=constructor&exact=maybe", "?M=" + "9" * 10_000, "?M=NaN&r=-1min&B=Infinity",
    "?r=" + quote("<script>alert(1)</script>"), "?P=" + quote('"><img src=x onerror=alert(1)>'), "?__proto__[x]=1",
    "?%E0%A4%A", "?tau=0s", "?delta=1s&P=1B", "?P=1e18&b=1e4&B=1B/s", "?s=1e12s&delta=1e12s&M=1e-6s",
    "?tau=1e12s&M=1e-6s&exact=1", "?delta=1e12s&M=1e-6s",
    "?M=1e12s&delta=1e-6s", "?r=1e12s", "?step=1e12s&price=1e12", "?target=99.99",
])  # fmt: skip
def test_no_link_breaks_the_page(open_page, query):
    page = open_page(query)
    unfold(page)
    fields = page.locator("#wk input").evaluate_all("fields => fields.map(f => f.value)")
    text = " ".join([page.locator("#wk").inner_text(), *fields])
    assert not STRANGE.search(text) and said(page).startswith("Save every ")
    attributes = "all => all.flatMap(e => [...e.attributes].map(a => a.value)).join(' ')"
    drawn = page.locator("#wk svg *").evaluate_all(attributes)
    assert not STRANGE.search(drawn) and "e+" not in drawn
    assert len(page.locator(".wk-area").first.get_attribute("d")) > 500
    assert page.evaluate("document.querySelectorAll('#wk img, #wk script').length") == 0
    assert too_wide(page) <= 0


def test_a_wrong_link_says_what_is_wrong_with_it(open_page):
    page = open_page("?preset=nothing&r=5apples&M=2h")
    assert "“nothing”, which is not in the list" in said(page, "preset-problem")
    assert "in the link, “apples” is no unit here" in problem(page, "r") and "Kept: 10 min." in problem(page, "r")
    assert page.locator("#wk-M").input_value() == "2 h"


def test_a_problem_stands_where_it_can_be_seen(open_page):
    assert "before its stall ends: give at most the drain, 2 s" in problem(open_page("?s=100 s&delta=2 s"), "s")
    page = open_page("?N=x&delta=NaN")
    assert "N: in the link, “x” is no number" in said(page, "preset-problem")
    assert page.locator("#wk-B").is_visible() and "is no time" in problem(page, "delta")


@pytest.mark.parametrize("width", [DESKTOP, PHONE, NARROWEST])
def test_a_loss_beyond_all_bounds_fits(open_page, width):
    page = open_page("?delta=1e12 s&r=1e12 s&M=1e-6 s", width)
    unfold(page)
    assert "counts more than 1,000 % of the time as lost" in said(page)
    assert too_wide(page) <= 0


def test_a_copied_link_opens_the_same_page(open_page):
    page = open_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    unfold(page)
    typed = {"P": "70B", "N": "4,096", "load": "77 s", "s": "0.3 s", "tau": "7 min"}
    for key, text in (typed | {"step": "3.3 s", "price": "9k", "target": "97"}).items():
        fill(page, key, text)
    page.locator("#wk-copy").click()
    page.wait_for_function("document.getElementById('wk-copy').textContent === 'Link copied'")
    link = page.evaluate("navigator.clipboard.readText()")
    fields = "fields => fields.map(f => [f.id, f.value])"
    shown = said(page), said(page, "steps"), said(page, "money"), said(page, "needed")
    sliders = page.locator("#wk [type=range]").evaluate_all(fields)
    other = open_page(link[link.index("?") :])
    other.evaluate(UNFOLD)
    other.wait_for_function("document.getElementById('wk-needed').textContent")
    assert (said(other), said(other, "steps"), said(other, "money"), said(other, "needed")) == shown
    assert other.locator("#wk [type=range]").evaluate_all(fields) == sliders


def test_the_address_follows_the_state(open_page):
    page = open_page()
    fill(page, "r", "2 min")
    page.wait_for_url("**/workshop.html?preset=llama3&r=2min")


# --- Sliders, mouse, finger, keyboard -------------------------------------------------------------------------


def plot_box(page):
    """Left end, right end and height of the plot's axis on the screen."""
    box = page.locator("#wk-loss").bounding_box()
    return box["x"] + 48, box["x"] + box["width"] - 12, box["y"] + 0.8 * box["height"]


def test_the_slider_lies_exactly_under_the_axis(open_page):
    for width in (DESKTOP, PHONE):
        page = open_page(width=width)
        left, right, _ = plot_box(page)
        slider = page.locator("#wk-tau-slider").bounding_box()
        assert slider["x"] + 10 == pytest.approx(left, abs=1)
        assert slider["x"] + slider["width"] - 10 == pytest.approx(right, abs=1)
        middle = slider["x"] + 10 + int(page.locator("#wk-tau-slider").input_value()) / 1000 * (slider["width"] - 20)
        handle = page.locator(".wk-handle").bounding_box()
        assert handle["x"] + handle["width"] / 2 == pytest.approx(middle, abs=1)


def test_dragging_with_the_mouse_sets_the_interval(open_page):
    page = open_page()
    left, right, height = plot_box(page)
    page.mouse.move(left + 5, height)
    page.mouse.down()
    page.mouse.move(right + 200, height, steps=8)
    assert said(page).startswith("Save every 1 d ")
    page.mouse.move((left + right) / 2, height, steps=8)
    page.mouse.up()
    tau = page.locator("#wk-tau").input_value()
    assert float(re.match(r"[\d.]+", tau)[0]) == pytest.approx(4.9, abs=0.1) and tau.endswith("min")
    assert "points worse than the best" in said(page, "miss")
    page.mouse.move(left, height)
    assert page.locator("#wk-tau").input_value() == tau  # let go
    page.locator("#wk-best").click()
    assert said(page, "miss") == "This is the best interval."


def test_the_axis_holds_still_while_the_interval_is_dragged(open_page):
    page = open_page("?tau=3d")  # the axis reaches further than usual
    left, right, height = plot_box(page)
    page.mouse.move(left + 0.8 * (right - left), height)
    page.mouse.down()
    before = page.locator("#wk-tau").input_value()
    page.mouse.move(left + 0.8 * (right - left), height + 5)
    assert page.locator("#wk-tau").input_value() == before == "15.6 h"
    page.mouse.up()


def test_dragging_with_a_finger_sets_the_interval_and_scrolling_does_not(browser, site):
    context = browser.new_context(viewport={"width": PHONE, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{site}/{PAGE}")
    page.wait_for_selector("#wk[data-ready]")
    page.locator("#wk-plot").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('wk-plot').scrollIntoView({ block: 'center' })")
    left, right, height = plot_box(page)
    cdp = context.new_cdp_session(page)

    def touch(kind, *points):
        cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    before, scrolled = said(page), page.evaluate("scrollY")
    touch("touchStart", (left + 60, height))
    for step in range(1, 12):
        touch("touchMove", (left + 60, height - 12 * step))
    touch("touchEnd")
    page.wait_for_function(f"scrollY > {scrolled}")
    assert said(page) == before
    page.evaluate("document.getElementById('wk-plot').scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(300)
    left, right, height = plot_box(page)
    touch("touchStart", (left + 20, height))
    for step in range(1, 12):
        touch("touchMove", (left + 20 + step * (right - left - 20) / 11, height))
    touch("touchEnd")
    assert said(page).startswith("Save every 1 d ")
    context.close()


def test_everything_can_be_done_with_the_keyboard(open_page):
    page = open_page()
    unfold(page)
    page.locator("#wk-reset").focus()
    reached = []
    for _ in range(80):
        page.keyboard.press("Tab")
        here = page.evaluate("""() => {
          const { id, dataset, textContent } = document.activeElement;
          const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
          return [id || dataset.open || dataset.key || textContent, outlineStyle !== "none" && outlineWidth !== "0px",
                  Boolean(document.activeElement.closest("#wk"))];
        }""")
        if not here[2]:
            break
        assert here[1], f"{here[0]}: the focus does not show"
        reached.append(here[0])
    assert not here[2], "the keyboard gets out again"
    wanted = {"wk-copy", "wk-tau-slider", "wk-tau", "wk-r-slider", "wk-r", "wk-P-slider", "wk-target", "wk-csv"}
    assert wanted | {"M", "r", "s", "delta"} <= set(reached)
    page.locator("#wk-tau-slider").focus()
    before = said(page)
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert said(page) != before and "worse than the best" in said(page, "miss")
    assert re.fullmatch(r"[\d.]+ min, [\d.]+ % lost", page.locator("#wk-tau-slider").get_attribute("aria-valuetext"))
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    assert said(page) == before and said(page, "miss") == "This is the best interval."
    page.locator("#wk-r-slider").focus()
    page.keyboard.press("Home")
    assert page.locator("#wk-r-slider").get_attribute("aria-valuetext") == "1 s"
    page.locator("#wk-exact").focus()
    page.keyboard.press("Space")
    assert said(page, "definition").startswith("Exact") if page.locator("#wk-exact").is_enabled() else True


def test_a_slider_never_sticks(open_page):
    page = open_page("?N=1000&detect=1s")
    for name in ("r", "B", "P", "M", "b", "m", "target"):
        moved = page.locator(f"#wk-{name}-slider").evaluate("""slider => {
          const seen = [];
          for (let step = 0; step <= Number(slider.max); step += 1) {
            slider.value = step;
            slider.dispatchEvent(new Event("input"));
            if (Number(slider.value) !== step) seen.push([step, slider.value]);
          }
          return seen;
        }""")
        assert not moved, name


def test_a_change_is_announced_politely_and_once(open_page):
    page = open_page()
    assert page.locator("#wk-said").get_attribute("role") == "status"
    page.evaluate("""() => {
      window.announced = [];
      new MutationObserver(() => announced.push(document.getElementById("wk-said").textContent))
        .observe(document.getElementById("wk-said"), { childList: true });
    }""")
    page.locator("#wk-r-slider").focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(800)
    assert page.evaluate("announced").count(said(page)) == 1 and len(page.evaluate("announced")) <= 2


def test_the_table_and_the_download_hold_the_numbers_of_the_plot(open_page):
    page = open_page("?tau=10min")
    page.locator("#wk-numbers summary").click()
    page.locator("#wk-rows tr").first.wait_for()
    rows = page.locator("#wk-rows tr").all_text_contents()
    assert any("(best)" in row for row in rows) and any("10 min (yours)" in row for row in rows) and len(rows) == 8
    with page.expect_download() as download:
        page.locator("#wk-csv").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# First order") and lines[2] == "interval_s,writing,redone,restarts,lost"
    numbers = np.array([line.split(",") for line in lines[3:]], dtype=float)
    assert len(numbers) == 401
    assert numbers[:, 4] == pytest.approx(value(formulas.LOSS, tau=numbers[:, 0], **LLAMA3))


# --- Fast, small, quiet, accessible -----------------------------------------------------------------------------


def test_scripts_and_styles_are_small():
    sizes = {file.name: len(gzip.compress(file.read_bytes())) for file in FILES.iterdir()}
    assert set(sizes) == {"printed.js", "units.js", "state.js", "answer.js", "plot.js", "controls.js", "workshop.css"}
    assert sum(sizes.values()) < 20_000, sizes


def test_scripts_are_on_their_page_alone_and_come_before_the_mathematics():
    pages = [file for file in SITE.rglob("*.html") if "_static/workshop/" in file.read_text(encoding="utf-8")]
    assert pages == [SITE / PAGE]
    html = pages[0].read_text(encoding="utf-8")
    scripts = re.findall(r"<script ([^>]*)src=\"[^\"]*?_static/(?:workshop|mathjax)/(\w+)", html)
    ours = ["printed", "units", "state", "answer", "plot", "controls"]
    assert [name for _, name in scripts] in (ours, [*ours, "tex"])  # MathJax comes only where there is mathematics
    assert all("defer" in attributes and "module" not in attributes for attributes, _ in scripts)


def busy(page):
    """A function that gives the time in ms that the page's thread has computed, whatever else the machine does."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})

    def milliseconds():
        metrics = {entry["name"]: entry["value"] for entry in cdp.send("Performance.getMetrics")["metrics"]}
        return 1000 * metrics["TaskDuration"]

    return milliseconds


def test_the_page_is_ready_at_once(window, site):
    computed, waited = [], []
    for _ in range(5):
        page = window()
        milliseconds = busy(page)
        page.goto(f"{site}/{PAGE}", wait_until="commit")
        page.wait_for_selector("#wk[data-ready]")
        computed.append(milliseconds())
        waited.append(int(page.locator("#wk").get_attribute("data-ready")))
        page.wait_for_load_state()
    print(f"ready after computing for {min(computed):.0f} to {max(computed):.0f} ms, on the clock {sorted(waited)} ms")
    assert min(computed) < 300


@pytest.mark.parametrize("query", ["", "?exact=1&N=16384&detect=1min&tau=9min", "?s=0.5s&delta=60s"])
def test_a_slider_step_takes_less_than_a_frame(open_page, query):
    page = open_page(query)
    page.evaluate(UNFOLD)
    page.wait_for_timeout(1000)
    milliseconds, steps = busy(page), 120
    before = milliseconds()
    clock = page.evaluate("""() => {
      const times = [];
      for (const id of ["wk-tau-slider", "wk-r-slider", "wk-M-slider"]) {
        const slider = document.getElementById(id);
        for (let step = 300; step < 700; step += 10) {
          const start = performance.now();
          slider.value = step;
          slider.dispatchEvent(new Event("input"));
          document.body.offsetHeight;
          times.push(performance.now() - start);
        }
      }
      return times;
    }""")
    computed = (milliseconds() - before) / steps
    print(f"a step: {computed:.1f} ms of computing; on the clock median {np.median(clock):.1f}, longest {max(clock):.1f}")
    assert len(clock) == steps and computed <= 16


@pytest.mark.parametrize("width", [DESKTOP, PHONE, NARROWEST])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", ["?tau=9min&r=5apples&step=10s&price=1k&preset=what", "?s=0.1s&delta=324s&tau=1min"])
def test_every_panel_open_is_accessible_and_fits(open_page, query, scheme, width):
    page = open_page(query, width, scheme)
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.add_style_tag(content="* { transition: none !important }")
    page.evaluate("document.querySelectorAll('#wk details').forEach(e => { e.open = true; })")
    for box in page.locator("[data-open]").all():
        if box.get_attribute("data-open") != "s":
            box.check()
    page.wait_for_timeout(400)
    assert not violations(page)
    assert too_wide(page) <= 0


def test_on_a_phone_the_plot_stays_in_view(open_page):
    page = open_page(width=PHONE)
    page.locator("#wk-warmup-label, #wk-r-label").first.evaluate("e => e.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(300)
    plot = page.locator("#wk-plot").bounding_box()
    header = page.locator(".bd-header-article").bounding_box()
    assert header["y"] + header["height"] - 2 <= plot["y"] < 70 and plot["y"] + plot["height"] < 450
    page.locator("#wk-r").focus()
    field = page.locator("#wk-r").bounding_box()
    assert field["y"] > plot["y"] + plot["height"]


def test_it_works_from_a_file_without_a_network(window):
    page = window(home=SITE.as_uri())
    page.context.set_offline(True)
    page.goto(f"{(SITE / PAGE).as_uri()}?r=2min")
    page.wait_for_selector("#wk[data-ready]")
    assert "96.5 %" in said(page)
    fill(page, "r", "10 min")
    page.wait_for_timeout(700)
    assert "92.2 %" in said(page)


# --- Without scripts, and on paper --------------------------------------------------------------------------------


def assert_static(page):
    picture = page.locator("#wk-static img")
    assert picture.is_visible() and picture.evaluate("image => image.complete && image.naturalWidth > 500")
    assert "4.5 min" in picture.get_attribute("alt") and "7.8 %" in picture.get_attribute("alt")
    text = page.locator("#wk-static").inner_text()
    assert answer(*first_order_answer(PRESETS["llama3"][1])) in text
    assert all(label in text for label, _ in PRESETS.values())
    assert not page.locator("#wk").is_visible()


def test_without_javascript_the_picture_and_its_numbers_stay(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/{PAGE}")
    assert_static(page)
    context.close()


@pytest.mark.parametrize("script", ["printed", "units", "state", "answer", "plot", "controls"])
def test_if_a_script_does_not_load_the_picture_stays(browser, site, script):
    context = browser.new_context()
    page = context.new_page()
    page.route(f"**/workshop/{script}.js*", lambda route: route.abort())
    page.goto(f"{site}/{PAGE}")
    assert_static(page)
    context.close()


def test_with_scripts_the_picture_gives_way(open_page):
    page = open_page()
    assert page.locator("#wk").is_visible() and not page.locator("#wk-static").is_visible()


def test_it_prints(open_page, tmp_path):
    page = open_page("?r=2min", scheme="dark")
    page.emulate_media(media="print")
    for name in ("answer", "loss", "between", "levers"):
        assert page.locator(f"#wk-{name}").is_visible(), name
    for name in ("copy", "tau-slider", "r-slider", "best"):
        assert not page.locator(f"#wk-{name}").is_visible(), name
    paper = page.pdf(path=tmp_path / "workshop.pdf", print_background=True)
    assert paper.startswith(b"%PDF") and len(paper) > 20_000


def test_the_preset_table_is_the_list_of_presets(open_page):
    options = open_page().locator("#wk-preset option").evaluate_all("all => all.map(o => [o.value, o.textContent])")
    assert options == json.loads(json.dumps([[key, label] for key, (label, _) in PRESETS.items()]))
