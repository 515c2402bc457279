"""The chapters as notebooks: how they are built, that they store what the reader sees, that they run at any numbers.

That the stored outputs are what a re-run gives is nbval's part (`make test`).
"""

import ast
import re
from base64 import b64decode
from functools import cache
from pathlib import Path
from statistics import median

import nbformat
import papermill
import pytest
from book import CHAPTERS, NOTEBOOKS, PAGES, ROOT
from IPython.display import display

# What the chapters are run with besides their defaults: a small job on a calm cluster, a large one on a rough
# cluster. The last entry is how the error for an impossible value may name the quantity besides by the name of the
# parameter: with the symbol of `formulas` that it stands for. Chapters need no entry of their own.
PARAMETERS = {
    # name:                  (calm, rough, named in the error)
    "bandwidth_bytes_per_s": (5e10, 7e12, "B"),
    "burst_gap_s": (60, 900.0, "gap"),
    "burst_size": (2, 6, "size"),
    "bytes_per_param": (12, 18, "b"),
    "check_every_steps": (4, 16, "every"),
    "detection_s": (600, 43200.0, "detection|d"),
    "devices": (1024, 24576, "N"),
    "drain_s": (20, 90.0, "D"),
    "durable_stall_s": (1, 10.0, "delta"),
    "failure_interval_s": (4 * 86400, 3600.0, "M|mean"),
    "failures": (5, 400, "failures"),
    "false_alarm": (0.05, 0.005, "false_alarm"),
    "few": (2, 10, "few"),
    "interval_s": (3600, 1200.0, "tau"),
    "lifetime_shape": (0.7, 1.5, "shape"),
    "log": ("bloom176b_incidents", "glm130b_incidents", "log"),
    "longer": (0.1, 0.5, "h"),
    "memory_restart_s": (60, 240.0, "r"),
    "memory_share": (0.5, 0.95, "p"),
    "memory_stall_s": (0.1, 2.0, "delta"),
    "model_parameters": (7e9, 1e12, "P"),
    "nodes": (512, 3072, "N"),
    "planned": (3, 100, "planned"),
    "price_per_device_hour": (2, 4.5, "price_per_device_hour"),
    "ranks": (5, 8, "ranks"),
    "ranks_after": (7, 2, "ranks"),
    "reading": ({"leave_out_causes": "hardware"}, {"window_start": "2022-05-20"}, "reading"),
    "repair_s": (7200, 14 * 86400.0, "R"),
    "restart_s": (300, 480.0, "r|restart"),
    "runs": (60, 150, "runs"),
    "seed": (3, 7, "seed"),
    "shape": (0.9, 0.6, "shape"),
    "short_restart_s": (60, 240.0, "r"),
    "shortage_chance": (0.05, 0.002, "chance"),
    "silent_interval_s": (20 * 86400, 3 * 86400.0, "M_s"),
    "stall_s": (0.2, 2.0, "s"),
    "state_bytes": (8.4e10, 8.4e13, "S"),  # what write_s and the bandwidth say
    "step_noise": (0.005, 0.03, "sigma"),
    "step_s": (2, 30.0, "t"),
    "stop_after_steps": (64, 112, "steps"),
    "stops": (31, 63, "stops"),
    "target": (0.01, 0.2, "target"),
    "target_loss": (0.005, 0.2, "target_loss"),
    "tolerated": (0.05, 0.25, "L|x"),
    "unnoticed_s": (3600, 3 * 86400.0, "U"),
    "verification_s": (10, 300.0, "V"),
    "warning_s": (10, 300.0, "G"),
    "window_s": (30 * 86400, 10 * 86400.0, "running"),
    "write_s": (1.68, 12.0, "delta"),
    "writer_bytes_per_s": (1e9, 5e9, "B_1"),
    "writers": (64, 3072, "K"),
}
SETS = {"calm": 0, "rough": 1}
IMPOSSIBLE = (-1.0, 0, float("nan"))
# A save may be durable as soon as training runs again. A seed is no quantity: NumPy refuses what it cannot take.
POSSIBLE = {("drain_s", 0), *(("seed", number) for number in IMPOSSIBLE)}
MINUTES_PER_CELL = 1


@cache
def notebook(page):
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4)


def code_cells(page):
    return [cell for cell in notebook(page).cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def shown(page):
    """The code cells that a reader sees; the others only hand rounded numbers to the text."""
    return [cell for cell in code_cells(page) if not {"remove-input", "remove-cell"} & set(tags(cell))]


def prose(page):
    """The text of a page, as Markdown."""
    if page in NOTEBOOKS:
        return "\n\n".join(cell.source for cell in notebook(page).cells if cell.cell_type == "markdown")
    return (ROOT / f"{page}.md").read_text()


def words(page):
    """The length of a page's text: an equation or a glued number counts as one word, a fence as none."""
    text = re.sub(r"^(?:`{3,}|:{3,}).*$|^:\w+:.*$|(?<=\])\([^)\s]*\)", " ", prose(page), flags=re.M)
    text = re.sub(r"\$\$[^$]+\$\$|\$[^$\n]+\$|\{[\w:]+\}`[^`]*`", " one ", text)
    return len(re.findall(r"[^\W\d_][\w'’-]*", text))


def parameters(page):
    """The names in the parameters cell."""
    return list(papermill.inspect_notebook(str(ROOT / f"{page}.ipynb")))


def pictures(cell):
    return [o.data["image/png"] for o in cell.outputs if "image/png" in o.get("data", {})]


each_notebook = pytest.mark.parametrize("page", NOTEBOOKS)
each_chapter = pytest.mark.parametrize("page", CHAPTERS)


# --- The table of contents ------------------------------------------------------------------------------------------
def test_every_page_of_the_contents_is_one_file_and_every_file_is_a_page():
    files = {path.relative_to(ROOT) for path in (ROOT / "chapters").iterdir() if path.suffix in (".md", ".ipynb")}
    files |= {path.relative_to(ROOT) for path in ROOT.glob("index.*")}
    assert sorted(str(path.with_suffix("")) for path in files) == sorted(PAGES)


# --- What is stored -------------------------------------------------------------------------------------------------
@each_notebook
def test_cells_were_run_in_order(page):
    assert [cell.execution_count for cell in code_cells(page)] == list(range(1, len(code_cells(page)) + 1))


@each_notebook
def test_outputs_are_stored_without_errors_or_warnings(page):
    for cell in code_cells(page):
        kinds = {output.get("name", output.output_type) for output in cell.outputs}
        assert not kinds & {"error", "stderr"}, cell.source
        last = ast.parse(cell.source).body[-1]
        if isinstance(last, ast.Expr):  # nbval passes a cell whose outputs were stripped
            assert cell.outputs, f"nothing is stored for the value of: {ast.unparse(last)}"


@each_notebook
def test_no_timing_is_stored(page):
    """It would make every refresh a change."""
    assert not [cell.metadata.execution for cell in code_cells(page) if "execution" in cell.metadata]


@each_notebook
def test_every_picture_says_what_it_shows(page):
    for cell in code_cells(page):
        about = cell.metadata.get("mystnb", {})
        alt = about.get("image", {}).get("alt", "")
        if not pictures(cell):
            assert not about, f"has an alt text or a caption, but no picture: {cell.source}"
            continue
        assert len(pictures(cell)) == 1, f"one alt text for {len(pictures(cell))} pictures: {cell.source}"
        assert len(alt.split()) >= 5 and not re.search(r"\.(png|svg)\b", alt), f"alt = {alt!r}: say what is seen"
        assert about.get("figure", {}).get("caption") and about["figure"]["name"].startswith("fig-"), cell.source


def test_the_picture_of_the_readme_is_the_stored_one():
    stored = [
        b64decode(picture)
        for cell in code_cells("chapters/optimum")
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == "fig-loss"
        for picture in pictures(cell)
    ]
    assert stored == [(ROOT / "images" / "loss_against_interval.png").read_bytes()], "run: make refresh"


# --- How a chapter is written ---------------------------------------------------------------------------------------
@each_notebook
def test_code_is_short_and_plain(page):
    for cell in code_cells(page):
        lines = cell.source.splitlines()
        assert len(lines) <= 12, f"{len(lines)} lines; longer logic has a name in the module: {cell.source}"
        assert not re.search(r"sys\.path|import \*|^[%!]|;\s*$", cell.source, flags=re.M), cell.source


@each_chapter
def test_the_pattern_of_a_chapter(page):
    visible = shown(page)
    assert 12 <= len(visible) <= 25, len(visible)
    assert median(len(cell.source.splitlines()) for cell in visible) <= 4
    assert 800 <= words(page) <= 2000, words(page)
    assert sum("parameters" in tags(cell) for cell in code_cells(page)) == 1
    assert any(isinstance(node, ast.Assert) for cell in visible for node in ast.walk(ast.parse(cell.source)))
    for part in ("**You will**", "**You need**", "**Time**", "Takeaway", "**Why might this be wrong?**"):
        assert part in prose(page), part
    assert "## Exercises" in prose(page) and "## Further reading" in prose(page)


@pytest.mark.parametrize("page", PAGES)
def test_every_exercise_has_a_folded_solution_that_was_run(page):
    exercises = re.findall(r"\{exercise\}.*\n:label: (\S+)", prose(page))
    assert len(exercises) == prose(page).count("{exercise}") and (page not in CHAPTERS or len(exercises) >= 3)
    solutions, label = {}, None
    for cell in notebook(page).cells if page in NOTEBOOKS else []:
        if cell.cell_type == "code":
            if label:
                solutions[label] += bool(cell.outputs)
            continue
        for fence in re.finditer(r"\{solution-(start|end)\}(?: (\S+)\n(:class: dropdown)?)?", cell.source):
            assert (fence[1] == "start") == (label is None), f"solutions overlap near {cell.source}"
            label = fence[2]
            if label:
                assert fence[3], f"the solution of {label} is not folded"
                solutions[label] = 0
    assert label is None and list(solutions) == exercises
    assert all(solutions.values()), f"no cell with an output: {[k for k, n in solutions.items() if not n]}"


def glued(page):
    if page not in NOTEBOOKS:
        return set()
    outputs = [output for cell in code_cells(page) for output in cell.outputs]
    return {output.metadata["scrapbook"]["name"] for output in outputs if "scrapbook" in output.get("metadata", {})}


def used():
    """Every glued number that a text uses: (the page that glues it, its key)."""
    for page in PAGES:
        text = prose(page)
        keys = re.findall(r"\{glue:\w*\}`([^`]+)`", text) + re.findall(r"\{glue:\w*\} (\S+)", text)
        for key in keys:
            source, _, name = key.rpartition("::")
            yield source.removesuffix(".ipynb") or page, name.partition(":")[0]


def test_every_glued_number_is_used_and_every_used_one_is_glued():
    assert set(used()) == {(page, key) for page in PAGES for key in glued(page)}


# --- Run at other numbers -------------------------------------------------------------------------------------------
@each_notebook
def test_every_parameter_has_other_values(page):
    unknown = set(parameters(page)) - set(PARAMETERS)
    assert not unknown, f"give PARAMETERS in {Path(__file__).name} a row for {', '.join(sorted(unknown))}"


@each_notebook
@pytest.mark.parametrize("numbers", ["defaults", *SETS])
def test_runs(page, numbers, kernel_manager):
    """Papermill runs it, and every assertion in it holds."""
    names = parameters(page)
    if numbers != "defaults" and not names:
        pytest.skip("no parameters")
    target = ROOT / "_build" / "executed" / numbers / f"{Path(page).name}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    done = papermill.execute_notebook(
        str(ROOT / f"{page}.ipynb"),
        str(target),
        {} if numbers == "defaults" else {name: PARAMETERS[name][SETS[numbers]] for name in names},
        cwd=(ROOT / page).parent,
        kernel_name="python3",
        kernel_manager_class=kernel_manager,
        execution_timeout=60 * MINUTES_PER_CELL,
        progress_bar=False,
    )
    figures = [sum(len(pictures(cell)) for cell in nb.cells if "outputs" in cell) for nb in (done, notebook(page))]
    assert figures[0] == figures[1]


def run(page, **numbers):
    """Run the code of a notebook in this process, which takes no kernel."""
    names = {"display": display, "__name__": "__main__"}
    for count, cell in enumerate(code_cells(page), start=1):
        exec(compile(cell.source, f"{page}.ipynb, cell {count}", "exec"), names)
        if "parameters" in tags(cell):
            names |= numbers


@pytest.mark.parametrize(
    ("page", "name", "number"),
    [
        (page, name, number)
        for page in NOTEBOOKS
        for name in parameters(page)
        for number in IMPOSSIBLE
        if name in PARAMETERS and (name, number) not in POSSIBLE
    ],
)
def test_stops_at_an_impossible_parameter(page, name, number, monkeypatch):
    monkeypatch.chdir((ROOT / page).parent)  # where a kernel would run
    with pytest.raises(ValueError) as error:
        run(page, **{name: number})
    message = str(error.value)
    names = "|".join((name, name.removesuffix("_s"), PARAMETERS[name][-1]))
    assert re.match(rf"({names})\b", message), f"names something else: {message}"
    assert str(number) in message or f"{number:.1f}" in message, f"does not say what was given: {message}"


def test_papermill_reports_an_impossible_parameter(tmp_path, kernel_manager):
    page = "chapters/overhead"
    with pytest.raises(papermill.PapermillExecutionError, match=r"ValueError: M .*-1"):
        papermill.execute_notebook(
            str(ROOT / f"{page}.ipynb"),
            str(tmp_path / "stopped.ipynb"),
            {"failure_interval_s": -1},
            cwd=ROOT / "chapters",
            kernel_name="python3",
            kernel_manager_class=kernel_manager,
            progress_bar=False,
        )
