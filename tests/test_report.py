"""The command `make report`: its arguments, the one file it leaves, and that it leaves nothing when it fails."""

import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from youngdaly import report as module
from youngdaly.cases import NUMBERS, READING, read_case
from youngdaly.report import main, parameters, report


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """The folder that reports go to."""
    monkeypatch.setattr(module, "REPORTS", tmp_path / "report")
    return tmp_path / "report"


@pytest.fixture
def made(reports, kernel_manager):
    """A function that makes a report from arguments and returns its text."""

    def make(*arguments):
        path = report(parameters(arguments), kernel_manager_class=kernel_manager, progress_bar=False)
        assert list(reports.iterdir()) == [path]
        return path.read_text(encoding="utf-8")

    return make


class Page(HTMLParser):
    """What a page loads and shows."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.pictures, self.headings, self.folded, self._open = [], [], [], 0, []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self._open.append(tag)
        self.loads += [attributes[name] for name in ("src", "href", "data", "action", "srcset") if name in attributes]
        self.folded += tag == "details" and "open" not in attributes
        if tag == "img":
            self.pictures.append(attributes)

    def handle_data(self, data):
        if self._open and self._open[-1] in ("h1", "h2"):
            self.headings.append(data)
        if "style" not in self._open[-1:]:
            self.text += data

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass


# --- Arguments ------------------------------------------------------------------------------------------------------
def test_arguments_are_the_parameters_of_the_chapter_and_the_options_of_the_reader(tmp_path):
    assert parameters([]) == {}
    assert parameters(["LOG=bloom176b_incidents", "WRITE_S=40"]) == {"log": "bloom176b_incidents", "write_s": 40.0}
    chosen = parameters(["log=a b.csv", "same_stop_s=60", "columns=time=when", "zone=+08:00", "devices=8"])
    assert chosen.pop("log").endswith("/a b.csv")  # the chapter runs elsewhere
    assert chosen == {"devices": 8.0, "reading": {"same_stop_s": 60.0, "columns": "time=when", "zone": "+08:00"}}


def test_the_names_are_those_of_the_parameters_cell():
    assert module.names() == list(NUMBERS)
    assert not set(READING) & set(NUMBERS)
    assert read_case(module.DEFAULT).log.name == "glm130b_incidents.csv"


@pytest.mark.parametrize(("argument", "message"), [
    ("my.csv", "'my.csv': write NAME=VALUE; the names are log, write_s"),
    ("writes=3", "'writes=3': write NAME=VALUE"),
    ("write_s=3min", "write_s = '3min': give a number"),
])  # fmt: skip
def test_a_wrong_argument_is_refused_at_once(argument, message, reports, capsys):
    with pytest.raises(ValueError, match=message):
        parameters([argument])
    assert main([argument]) == 2
    assert message in capsys.readouterr().err and not reports.exists()


def test_make_hands_over_any_value(tmp_path):
    """An apostrophe, a blank or a semicolon in a value is none of the shell's business."""
    command = ["make", "-n", "-o", ".venv/installed", "report", "LOG=it's my;log.csv", "columns=time=a,end=b"]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=module.ROOT, check=True).stdout
    line = next(line for line in printed.splitlines() if "youngdaly.report" in line)
    assert {"LOG=it's my;log.csv", "columns=time=a,end=b"} <= set(shlex.split(line))


@pytest.mark.parametrize(("log", "name"), [
    ("my.log.v2.csv.gz", "my_log_v2"), ("2022.05.CSV", "2022_05"), ("train.txt", "train"), ("a.b", "a_b"),
])  # fmt: skip
def test_a_report_is_named_after_its_log(log, name):
    assert module.destination({"log": log}).name == f"{name}.html"
    kept = {"log": log, "reading": {"keep_only": "node=a"}}
    assert module.destination(kept).name == f"{name}-node=a.html"


def test_a_report_that_is_replaced_is_mentioned(reports, monkeypatch, capsys):
    import papermill

    monkeypatch.setattr(papermill, "execute_notebook", lambda notebook, *args, **kwargs: notebook)
    assert main([]) == 0 and "replaced" not in capsys.readouterr().err
    assert main([]) == 0 and "An earlier report of this name was replaced." in capsys.readouterr().err


# --- The report -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("arguments", "answer"), [
    ([], "Save every 58 steps (1.4 h)."),
    (["LOG=bloom176b_incidents", "price_per_device_hour=2.5"], "notice failures at once"),
])  # fmt: skip
def test_a_report_is_one_file_with_its_pictures_inside(made, arguments, answer):
    page = Page(text := made(*arguments))
    assert answer in page.text
    assert all(load.startswith("data:image/png;base64,") for load in page.loads)
    assert len(page.pictures) == 4 and all(len(picture["alt"].split()) > 5 for picture in page.pictures)
    assert not re.search(r"https?://|@import|url\(", re.sub(r"base64,[^\"]*", "", text))
    assert page.folded == 1 and "read_case(" in page.text
    for wanted in ("In short", "What was read", "How often should it save?", "What would have happened?"):
        assert wanted in page.headings
    assert not re.search(r"\{(glue|cite|exercise|numref)|:::|\$\$|Traceback", page.text)


def test_a_log_of_ones_own(made, tmp_path):
    log = tmp_path / "my log.v2.csv"
    log.write_text(
        "failed,end,node\n2022-05-01T00:00Z,,a\n2022-05-02T00:00Z,2022-05-02T01:00Z,a\n2022-05-04T00:00Z,,b\n"
    )
    options = "columns=time=failed", "keep_only=node=a", "window_end=2022-05-05T00:00Z", "write_s=60"
    page = Page(made(f"LOG={log}", *options))
    assert "not node=a" in page.text and "Save every 1.8 h." in page.text and "768" not in page.text


# --- Failing --------------------------------------------------------------------------------------------------------
def test_a_bad_log_is_an_answer_and_no_trace_and_no_file(tmp_path):
    log = tmp_path / "bad.csv"
    log.write_text("time\n2022-05-01\n2022-02-30\n")
    command = [sys.executable, "-m", "youngdaly.report", f"LOG={log}", "write_s=60"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and done.stdout == ""
    assert last.startswith(f"No report was written. {log}: line 3: time = '2022-02-30' is no date")
    assert "Traceback" not in done.stderr
    assert not (module.REPORTS / "bad.html").exists()


def test_a_bad_log_is_refused_before_a_kernel_starts(reports, monkeypatch, tmp_path):
    import papermill

    monkeypatch.setattr(papermill, "execute_notebook", lambda *args, **kwargs: pytest.fail("a kernel was started"))
    with pytest.raises(ValueError, match="no such file"):
        report({"log": str(tmp_path / "nowhere.csv"), "write_s": 3.0})
    assert not reports.exists()


def test_a_fault_of_the_chapter_is_no_trace_either(reports, monkeypatch, capsys, tmp_path):
    import nbformat

    chapter = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(chapter, tmp_path / "broken.ipynb")
    monkeypatch.setattr(module, "CHAPTER", tmp_path / "broken.ipynb")
    assert main([]) == 1
    assert "by a fault of the chapter: division by zero" in capsys.readouterr().err and not reports.exists()


def test_nothing_half_written_is_left(reports, monkeypatch):
    """A page that cannot be rendered leaves the report before it as it was."""
    import nbconvert
    import papermill

    def fails(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(papermill, "execute_notebook", lambda notebook, *args, **kwargs: notebook)
    path = report({})
    before = path.read_text(encoding="utf-8")
    for cls, step in ((nbconvert.HTMLExporter, "from_notebook_node"), (type(path), "replace")):
        with monkeypatch.context() as patched:
            patched.setattr(cls, step, fails)
            with pytest.raises(MemoryError):
                report({})
        assert [file.read_text(encoding="utf-8") for file in reports.iterdir()] == [before]
