"""The package and its environment: this checkout, light to import, exact versions."""

import re
import subprocess
import sys
from importlib.metadata import version

import pytest
import youngdaly
from book import ROOT
from packaging.requirements import Requirement


def requirements(name):
    """The requirements in one file; other lines of pip's (-c, -e) left out."""
    lines = [line.partition(" #")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def test_the_package_is_the_one_of_this_checkout():
    assert youngdaly.__path__ == [str(ROOT / "src" / "youngdaly")]


def test_kernels_import_this_checkout_too():
    where = subprocess.run(
        [sys.executable, "-c", "import youngdaly; print(*youngdaly.__path__)"],
        capture_output=True, text=True, check=True, cwd=ROOT / "chapters",
    )  # fmt: skip
    assert where.stdout.split() == [str(ROOT / "src" / "youngdaly")]


def test_import_takes_less_than_a_second():
    """Of processor time, the start of Python included: what else the machine does is not the package's fault."""
    code = "import youngdaly.formulas, youngdaly.evaluation, time; print(time.process_time())"

    def once():
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)

    assert min(once() for _ in range(5)) < 1


@pytest.mark.parametrize("name", ["requirements.txt", "constraints.txt", "tests/requirements-browser.txt"])
def test_every_requirement_is_one_exact_version(name):
    for requirement in requirements(name):
        assert re.fullmatch(r"==[^*]+", str(requirement.specifier)), requirement


def test_what_is_installed_is_what_is_pinned():
    pinned = requirements("requirements.txt") + requirements("constraints.txt")
    here = [r for r in pinned if r.marker is None or r.marker.evaluate()]
    assert not {r.name: version(r.name) for r in here if version(r.name) not in r.specifier}, "run: make book"


def test_numpy_is_one_version_on_every_python():
    """Two versions could print two last digits."""
    assert [str(r) for r in requirements("constraints.txt") if r.name == "numpy"] == [f"numpy=={version('numpy')}"]


def test_jupyter_book_is_the_first_generation():
    """2.x builds nothing from _config.yml, and exits 0."""
    assert version("jupyter-book").startswith("1.0.")
