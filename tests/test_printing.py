"""The script that the workshop page calculates with: printed from the formulas, complete, and the same every time."""

import os
import re
import shutil
import subprocess

import pytest
import sympy as sp
from book import ROOT

from youngdaly import formulas, printing
from youngdaly.data import fact
from youngdaly.evaluation import EXPONENTIAL, SERIES, value
from youngdaly.printing import first_order_answer, javascript, page_script, presets
from youngdaly.text import answer

WEB = ROOT / "web" / "workshop"


@pytest.mark.parametrize("formula, function", [
    (formulas.YOUNG, "({ M, delta }) => Math.sqrt(2*M*delta)"),
    (formulas.RESTARTS, "({ M, r }) => r/M"),
    (formulas.EXACT_RESTARTS, "({ M, r }) => -Math.expm1(-r/M)"),
    (formulas.EXACT_BEST, "({ M, delta }) => M*exactRoot(delta/M)"),
])  # fmt: skip
def test_a_formula_becomes_a_function_of_its_symbols(formula, function):
    assert javascript(formula) == function


def test_what_has_no_counterpart_is_refused():
    with pytest.raises(ValueError, match="LambertW|cannot be printed"):
        javascript(sp.Integral(formulas.x, (formulas.x, 0, formulas.k)))


def test_no_exponential_is_printed_that_loses_its_digits():
    assert "Math.exp(" not in re.sub(r"Math\.exp\((-r|delta)/M\)", "", page_script())
    assert not re.search(r"Math\.exp\([^)]*\) ?- ?1\b", page_script())


def test_a_changed_formula_changes_the_script(monkeypatch):
    before = page_script()
    monkeypatch.setattr(formulas, "REDONE", 2 * formulas.REDONE)
    changed = set(page_script().splitlines()) - set(before.splitlines())
    assert {line.split(":")[0].strip() for line in changed} == {"REDONE"}


def test_coefficients_keep_every_digit():
    lists = re.findall(r"polynomial\(\[(.+?)\]", page_script())
    assert [[eval(c) for c in text.split(", ")] for text in lists] == [list(EXPONENTIAL), list(SERIES)]


def test_the_script_is_the_same_every_time():
    assert page_script() == page_script()


def test_nothing_printed_is_committed():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a clone: what is committed is not known")
    assert not [file for file in tracked.stdout.split() if file.endswith("printed.js")]


def test_the_page_itself_holds_no_formula():
    """Logarithms and roots for scales and for halving intervals are all the mathematics that stands in it."""
    for file in WEB.glob("*.js"):
        assert not re.search(r"Math\.(exp|expm1|log1p|cbrt)\b", file.read_text(encoding="utf-8")), file.name
        assert len(re.findall(r"Math\.sqrt", file.read_text(encoding="utf-8"))) <= (2 if file.stem == "answer" else 0)


def test_presets_are_made_of_facts():
    numbers = {key: values for key, (_, values) in presets().items()}
    assert numbers["llama3"]["P"] == fact("llama3_parameters")
    assert numbers["slow_storage"]["B"] == pytest.approx(fact("llama3_bandwidth") * fact("slow_storage_share"))
    assert all({"r"} < set(values) <= set(formulas.QUANTITIES) for values in numbers.values())


def test_a_preset_gives_each_time_in_one_way():
    for key, (_, numbers) in presets().items():
        assert {"P", "b", "B"} <= set(numbers) if "delta" not in numbers else not {"P", "b", "B"} & set(numbers), key
        assert {"N", "m"} <= set(numbers) if "M" not in numbers else not {"N", "m"} & set(numbers), key


def test_the_first_preset_answers_as_the_book_does():
    tau, shares = first_order_answer(presets()["llama3"][1])
    assert answer(tau, shares).startswith("Save every 4.5 min and 92.2 % of the time is effective training.")


def test_every_preset_has_an_answer_whose_shares_add_up():
    for label, numbers in presets().values():
        tau, shares = first_order_answer(numbers)
        assert sum(shares.values()) == pytest.approx(1)
        assert 0 < shares["useful"] < 1 and tau > 0, label


def test_the_best_asynchronous_interval_beats_its_neighbours_on_both_sides_of_the_drain():
    for s, D in [(0.59, 51.06), (0.1, 324.0)]:
        job = {"s": s, "D": D, "M": 11160.0}
        best = value(formulas.ASYNC_BEST, **job)
        least = value(formulas.ASYNC_LOSS, tau=best, r=600.0, **job)
        assert best >= D
        for factor in (0.5, 0.9, 0.999, 1.001, 1.1, 2):
            assert value(formulas.ASYNC_LOSS, tau=factor * best, r=600.0, **job) > least


def test_without_a_drain_an_asynchronous_save_is_a_save():
    job = {"tau": 300.0, "M": 11160.0, "r": 600.0}
    streamed = value(formulas.ASYNC_LOSS, s=3.24, D=1e-12, **job)
    assert streamed == pytest.approx(value(formulas.LOSS, delta=3.24, **job))


def test_the_pure_parts_of_the_page(tmp_path):
    """Node's own test runner on tests/workshop.test.mjs."""
    node = shutil.which("node")
    if node is None:
        reason = "no Node: the pure parts of the workshop were not tested without a browser"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    script = tmp_path / "book.js"
    script.write_text(page_script(), encoding="utf-8")
    run = subprocess.run(
        [node, "--test", ROOT / "tests" / "workshop.test.mjs"],
        env=os.environ | {"WORKSHOP_BOOK": str(script)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr
    assert int(re.search(r"# pass (\d+)", run.stdout)[1]) > 90


def test_every_printed_formula_exists_once():
    assert len(set(printing.PRINTED)) == len(printing.PRINTED)
    assert all(isinstance(getattr(formulas, name), sp.Expr) for name in printing.PRINTED)
