"""The published facts: every row obeys the rules, a row that breaks one is refused by file and line."""

import csv
import re
import shutil
from math import isfinite
from pathlib import Path

import pytest

from youngdaly import data
from youngdaly.data import UNITS, bytes_per_parameter, fact, table

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path.stem for path in data.DATA.glob("*.csv"))
RULED = ("unit", "kind", "source", "locator", "seen")  # what every row of every file must say


def rows_of(name, folder=None):
    with open((folder or data.DATA) / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


ROWS = [pytest.param(row, id=f"{name}, line {line}") for name in FILES for line, row in enumerate(rows_of(name), 2)]


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the data that a test may break."""
    shutil.copytree(data.DATA, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(data, "DATA", tmp_path)
    data._facts.cache_clear()
    yield tmp_path
    data._facts.cache_clear()


def refused(function, *args):
    with pytest.raises(ValueError) as error:
        function(*args)
    return str(error.value)


# --- The rules --------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS)
def test_every_row_says_unit_kind_source_locator_and_how_surely_it_was_seen(row):
    assert None not in row and None not in row.values()  # as many fields as the header
    assert row["unit"] in UNITS
    assert row["kind"] in {"published", "derived", "assumed"}
    assert row["seen"] in {"first-hand", "quoted", "second-hand"}
    assert row["locator"].strip()
    references = (ROOT / "references.bib").read_text(encoding="utf-8")
    assert row["source"] in re.findall(r"^@\w+\{([^,\s]+),", references, re.MULTILINE)


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_read_whole_and_its_keys_are_unique(name):
    rows = rows_of(name)
    assert len(table(name)) == len(rows) > 0
    if "key" in rows[0]:
        assert len({row["key"] for row in rows}) == len(rows)
    lines = (data.DATA / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(rows) + 1  # one row is one line, so that an error can name it


@pytest.mark.parametrize("row", rows_of("facts"), ids=lambda row: row["key"])
def test_every_fact_is_a_positive_number_in_base_units(row):
    assert fact(row["key"]) == pytest.approx(float(row["value"]) * UNITS[row["unit"]])
    assert 0 < fact(row["key"]) and isfinite(fact(row["key"]))


def test_the_derived_write_time_is_the_one_that_follows_from_its_facts():
    state = fact("llama3_parameters") * bytes_per_parameter("with_gradients")
    assert fact("llama3_write_time") == pytest.approx(state / fact("llama3_bandwidth"))


def test_every_fact_is_used():
    files = [p for room in ("src", "chapters", "tests") for p in (ROOT / room).rglob("*")] + [ROOT / "index.ipynb"]
    text = "".join(p.read_text(encoding="utf-8") for p in files if p.suffix in (".py", ".ipynb", ".md") and p.exists())
    others = " ".join(cell for name in FILES if name != "facts" for row in rows_of(name) for cell in row.values())
    keys = [row["key"] for row in rows_of("facts")]
    unused = [k for k in keys if not re.search(rf"[\"']{k}\\?[\"']", text) and not re.search(rf"\b{k}\b", others)]
    assert not unused


# --- What is refused --------------------------------------------------------------------------------


def with_cell(folder, name, line, column, entry):
    """Rewrite one cell of a copied file."""
    rows = rows_of(name, folder)
    rows[line - 2][column] = entry
    with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("column", RULED)
def test_a_row_that_leaves_out_what_it_must_say_is_refused(copied, name, column):
    with_cell(copied, name, 3, column, "")
    assert re.match(rf"{name}\.csv, line 3: {column} = nan: give (a non-empty text|one of )", refused(table, name))


@pytest.mark.parametrize("column, entry, accepted", [
    ("unit", "kB", "one of 1, %, s, min, h, d, yr"),
    ("unit", "tb", "one of 1, %, s, min, h, d, yr"),
    ("kind", "rumour", "one of published, derived, assumed"),
    ("seen", "maybe", "one of first-hand, quoted, second-hand"),
    ("source", " ", "a non-empty text"),
    ("locator", "\t", "a non-empty text"),
    ("key", "", "a non-empty text"),
    ("key", "llama3_parameters", "a new key"),
    ("value", "", "a finite number"),
    ("value", "many", "a finite number"),
    ("value", "inf", "a finite number"),
])  # fmt: skip
def test_an_entry_the_book_does_not_know_is_refused(copied, column, entry, accepted):
    with_cell(copied, "facts", 4, column, entry)
    message = refused(fact, "llama3_devices")
    shown = repr(entry) if entry else "nan"
    assert message.replace("= inf:", "= 'inf':").startswith(f"facts.csv, line 4: {column} = {shown}")
    assert f": give {accepted}" in message


@pytest.mark.parametrize("name, column", [
    ("claims", "low"), ("claims", "high"), ("llama3_interruptions", "count"), ("bytes_per_parameter", "gradients"),
])  # fmt: skip
@pytest.mark.parametrize("entry", ["", "many"])
def test_a_number_that_is_missing_or_none_is_refused(copied, name, column, entry):
    with_cell(copied, name, 3, column, entry)
    shown = repr(entry) if entry else "nan"
    assert refused(table, name) == f"{name}.csv, line 3: {column} = {shown}: give a finite number"


@pytest.mark.parametrize("broken, says", [
    (lambda lines: [*lines[:2], "", *lines[2:]], "facts.csv, line 3: unit = nan: give one of"),
    (lambda lines: [*lines[:2], lines[2] + ",and,more", *lines[3:]], "facts.csv: .* 8 fields in line 3, saw 10"),
    (lambda lines: [lines[0], *(line + ",more" for line in lines[1:])], "facts.csv, line 2: unit = 'published'"),
    (lambda lines: [*lines[:2], "key,1,s", *lines[2:]], "facts.csv, line 3: kind = nan: give one of published"),
    (lambda lines: [lines[0].replace("source", "origin"), *lines[1:]], "facts.csv: no column 'source'"),
    (lambda lines: [], "facts.csv: No columns"),
], ids=["blank line", "long row", "long rows", "short row", "no column", "empty file"])  # fmt: skip
def test_a_file_that_is_no_table_is_refused(copied, broken, says):
    path = copied / "facts.csv"
    path.write_text("\n".join(broken(path.read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    assert re.match(says, refused(table, "facts"))


def test_an_unknown_name_is_answered_with_the_known_ones(copied):
    assert re.fullmatch(r"no fact 'llama4_devices'; there are: llama3_parameters, .*", refused(fact, "llama4_devices"))
    message = refused(bytes_per_parameter, "fp8")
    assert message == "no layout 'fp8'; there are: with_gradients, on_disk, fp32_gradients, fp32_adam"
    message = refused(table, "llama4")
    assert message == f"no table 'llama4' in the book's data folder; there are: {', '.join(FILES)}"
    for path in copied.glob("*.csv"):
        path.unlink()
    assert refused(table, "facts").endswith("there are: none: run from a clone of the book")


# --- Units and state size ---------------------------------------------------------------------------


def test_decimal_and_binary_sizes_are_different_units():
    assert UNITS["GB"] == 10**9 and UNITS["TB"] == 10**12
    assert UNITS["GiB"] == 1024**3 and UNITS["TiB"] == 1024**4
    assert fact("llama3_bandwidth") == 2 * 10**12


def test_times_are_seconds():
    assert [UNITS[unit] for unit in ("s", "min", "h", "d")] == [1, 60, 60 * 60, 24 * 60 * 60]
    assert UNITS["yr"] == 365.25 * UNITS["d"] and UNITS["1/d"] * UNITS["d"] == 1
    assert fact("llama3_window") == 54 * 24 * 3600


@pytest.mark.parametrize("layout, total", [
    ("with_gradients", 16), ("on_disk", 14), ("fp32_gradients", 18), ("fp32_adam", 12),
])  # fmt: skip
def test_bytes_per_parameter(layout, total):
    assert bytes_per_parameter(layout) == total


def test_the_layouts_are_the_known_four():
    assert len(rows_of("bytes_per_parameter")) == 4


# --- The root causes of Llama 3 ---------------------------------------------------------------------


def test_the_counts_of_the_root_causes_add_up_to_the_printed_total():
    causes = table("llama3_interruptions")
    assert len(causes) == 18
    assert causes["count"].sum() == 419 == fact("llama3_unexpected")


def test_only_the_first_printed_percent_is_not_that_of_its_count():
    causes = table("llama3_interruptions")
    off = causes[(100 * causes["count"] / 419).round(1) != causes["printed_percent"]]
    assert off["component"].tolist() == ["Faulty GPU"]
    assert causes["printed_percent"].sum().round(1) == 94.9
