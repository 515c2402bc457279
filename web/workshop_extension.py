"""A local Sphinx extension: the live workshop on the one page that has it, and what stands there without it."""

import re
from html import escape
from math import log
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from youngdaly.figures import COLOURS, INK, NAMES, STACK
from youngdaly.printing import first_order_answer, page_script, presets
from youngdaly.text import answer, duration, percent

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "web" / "workshop"
SCRIPTS = ("printed", "units", "state", "answer", "plot", "controls")  # each needs those before it
COLUMNS = ("start from", "best interval", "effective", "writing", "redone work", "restarts")


# In page.html: <field key="…" low="…" high="…">label</field>, low and high being the ends of its slider. Its step
# is a factor of 1.2 % (or what is given): more than the last of the three digits that a slider rounds to.
_FIELD = re.compile(r'<field key="(\w+)"(?: low="(.+?)" high="(.+?)"(?: step="(.+?)")?)?>(.+?)</field>')


def _field(match):
    key, low, high, step, label = match.groups()
    slider = ""
    if low:
        steps = min(1000, int(log(float(high) / float(low)) / float(step or 0.012)))
        slider = (
            f'<input type="range" id="wk-{key}-slider" min="0" max="{steps}" data-low="{low}" data-high="{high}" '
            f'aria-label="{label}, slider">'
        )
    return (
        f'<div class="wk-field"><label id="wk-{key}-label" for="wk-{key}">{label}</label>{slider}'
        f'<input type="text" id="wk-{key}" autocomplete="off" spellcheck="false" aria-describedby="wk-{key}-problem">'
        f'<p class="wk-problem" id="wk-{key}-problem"></p></div>'
    )


def _lever(match):
    bars = "".join(f'<span class="wk-{name}"></span>' for name in reversed(STACK))
    return (
        f'<button type="button" class="wk-lever" data-key="{match[1]}"><span></span>'
        f'<span class="wk-lever-bar wk-useful">{bars}</span><span></span></button>'
    )


def _live():
    """The page's elements, hidden until its scripts run."""
    colours = "".join(f"--{name}: {COLOURS[name]}; --on-{name}: {INK[name]}; " for name in COLOURS)
    options = "".join(f'<option value="{key}">{escape(label)}</option>' for key, (label, _) in presets().items())
    layers = reversed(STACK)  # each area reaches down to the axis, so the highest is drawn first
    areas = "".join(f'<path class="wk-area wk-{name}" />' for name in layers)
    names = "".join(f'<text class="wk-name wk-{name}">{NAMES[name]}</text>' for name in STACK)
    html = (HERE / "page.html").read_text(encoding="utf-8")
    html = _FIELD.sub(_field, re.sub(r'<lever key="(\w+)" />', _lever, html))
    html = html.replace("<presets />", options).replace("<areas />", areas).replace("<names />", names)
    return html.replace('id="wk"', f'id="wk" style="{colours.strip()}"', 1)


def _table(rows):
    table = nodes.table()
    group = nodes.tgroup(cols=len(COLUMNS))
    group += [nodes.colspec(colwidth=1) for _ in COLUMNS]
    for section, lines in ((nodes.thead(), [COLUMNS]), (nodes.tbody(), rows)):
        for line in lines:
            row = nodes.row()
            row += [nodes.entry("", nodes.paragraph(text=cell)) for cell in line]
            section += row
        group += section
    table += group
    return table


class Workshop(SphinxDirective):
    """`{workshop} picture`: the picture of the first preset, every preset's answer, and the live page over them."""

    required_arguments = 1

    def run(self):
        answers = {label: first_order_answer(numbers) for label, numbers in presets().values()}
        first, (tau, shares) = next(iter(answers.items()))
        alt = (
            f"Share of training time lost against the checkpoint interval for {first}, in three stacked areas: "
            f"restarts {percent(shares['restarts'])} at every interval, redone work growing with the interval, "
            f"writing shrinking with it. The loss is least, {percent(1 - shares['useful'])}, at {duration(tau)}."
        )
        figure = nodes.figure("", nodes.image(uri=self.arguments[0], alt=alt))
        figure += nodes.caption(text=f"{first}, to first order. {answer(tau, shares)}")
        rows = [
            (label, duration(tau), *(percent(shares[name]) for name in ("useful", "writing", "redone", "restarts")))
            for label, (tau, shares) in answers.items()
        ]
        static = nodes.container(ids=["wk-static"])
        static += [figure, _table(rows)]
        self.env.metadata[self.env.docname]["workshop"] = True
        for folder in (HERE, ROOT / "src" / "youngdaly", ROOT / "data"):  # a changed formula is a changed page
            for file in folder.glob("*.*"):
                self.env.note_dependency(str(file))
        return [static, nodes.raw("", _live(), format="html")]


def gather_files(app):
    """The page's own files and the formulas as a script, in a folder of the build that Sphinx copies from."""
    folder = Path(app.doctreedir) / "static"
    rmtree(folder, ignore_errors=True)
    copytree(HERE, folder / "workshop", ignore=ignore_patterns("*.html"))
    (folder / "workshop" / "printed.js").write_text(page_script(), encoding="utf-8")
    app.config.html_static_path.append(str(folder))


def add_files(app, pagename, templatename, context, doctree):
    if "workshop" in app.env.metadata.get(pagename, {}):
        for script in SCRIPTS:  # before MathJax, which is slow
            app.add_js_file(f"workshop/{script}.js", loading_method="defer", priority=100)
        app.add_css_file("workshop/workshop.css")


def setup(app):
    app.add_directive("workshop", Workshop)
    app.connect("builder-inited", gather_files)
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
