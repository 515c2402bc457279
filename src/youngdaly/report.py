"""The command behind `make report`: the chapter `your_cluster` run on a log, as one HTML file.

    python -m youngdaly.report LOG=my_log.csv write_s=40 restart_s=600 step_s=12 devices=1024

Names are the parameters of the chapter and the options of `youngdaly.logs.read`, in any case. Without LOG it
reports on the GLM-130B log that comes with the book.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
import papermill

from youngdaly.data import DATA
from youngdaly.logs import READING

ROOT = DATA.parent
CHAPTER = ROOT / "chapters" / "your_cluster.ipynb"
REPORTS = ROOT / "_build" / "report"
DEFAULT = "glm130b_incidents"
SUFFIXES = (".csv", ".txt", ".gz", ".bz2", ".xz")  # of a log, and not part of its report's name
BOOK_ONLY = "book-only"  # tag of the cells that a report leaves out


def names():
    """The names of the numbers that the chapter takes."""
    return [name for name in papermill.inspect_notebook(str(CHAPTER)) if name not in ("log", "reading")]


def parameters(arguments):
    """The parameters of the chapter that a list of NAME=VALUE spells.

    Raises a `ValueError` for a name that does not exist and for a number that is none.
    """
    chosen, reading, numbers = {}, {}, names()
    for argument in arguments:
        name, sign, text = argument.partition("=")
        name = name.strip().lower()
        if not sign or name not in ("log", *numbers, *READING):
            raise ValueError(f"{argument!r}: write NAME=VALUE; the names are log, {', '.join((*numbers, *READING))}")
        if name in numbers or name == "same_stop_s":
            try:
                text = float(text)
            except ValueError:
                raise ValueError(f"{name} = {text!r}: give a number") from None
        (reading if name in READING else chosen)[name] = text
    log = chosen.get("log")
    if log and not (DATA / f"{log}.csv").is_file():
        chosen["log"] = str(Path(log).resolve())  # the chapter may run elsewhere
    return chosen | ({"reading": reading} if reading else {})


def destination(chosen):
    """Where the report with these parameters goes: named after the log and the rows that are kept."""
    log = Path(chosen.get("log", DEFAULT))
    while log.suffix.lower() in SUFFIXES:
        log = log.with_suffix("")
    rows = chosen.get("reading", {}).get("keep_only", "")
    name = log.name + (f"-{rows}" if rows else "")
    return REPORTS / (re.sub(r"[^\w=-]", "_", name) + ".html")


def report(chosen, **options):
    """Run the chapter with its parameters in a dict, write the report, and return the report's path.

    options : for `papermill.execute_notebook`.
    Raises the `ValueError` of the chapter; then nothing is written.
    """
    # Slow to import, and not needed to refuse an argument.
    from nbconvert import HTMLExporter

    from youngdaly.cases import read_case

    read_case(**({"log": DEFAULT} | chosen))  # a bad log is refused before a kernel starts
    os.environ.pop("MPLBACKEND", None)  # "agg" would take all pictures out of the report
    chapter = nbformat.read(CHAPTER, as_version=4)
    chapter.cells = [cell for cell in chapter.cells if BOOK_ONLY not in cell.metadata.get("tags", [])]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = papermill.execute_notebook(
                chapter,
                str(Path(folder, "report.ipynb")),
                chosen,
                kernel_name="python3",
                **options,
                extra_arguments=["--IPKernelApp.log_level=ERROR"],  # no warnings between the lines of progress
            )
        except papermill.PapermillExecutionError as error:
            expected = error.ename == "ValueError"
            raise (ValueError if expected else RuntimeError)(f"{error.evalue or error.ename}") from None
    log = Path(chosen.get("log", DEFAULT))
    exporter = HTMLExporter(
        template_name="basic",
        template_file="report.html.j2",
        extra_template_paths=[str(ROOT / "web")],
        exclude_anchor_links=True,
        exclude_output_prompt=True,
    )
    page, _ = exporter.from_notebook_node(done, resources={"log": log.name})
    target = destination(chosen)
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        half.write_text(page, encoding="utf-8")
        half.replace(target)
    finally:
        half.unlink(missing_ok=True)
    return target


def main(arguments=None):
    """Write the report that the arguments ask for. Returns the exit code: 2 if they or the log are not sound."""
    parser = argparse.ArgumentParser(prog="python -m youngdaly.report", description=__doc__.split("\n\n")[0])
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE", help=f"log, {', '.join((*names(), *READING))}")
    try:
        chosen = parameters(parser.parse_args(arguments).settings)
        replaced = destination(chosen).exists()
        target = report(chosen)
    except ValueError as error:
        print(f"No report was written. {error}.", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"No report was written, by a fault of the chapter: {error}.", file=sys.stderr)
        return 1
    if replaced:
        print("An earlier report of this name was replaced.", file=sys.stderr)
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
