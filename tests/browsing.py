"""A real browser for the tests of the site, and what they ask of any page.

The site is served from a folder by a server on this machine, as a web host would do it. Needs
tests/requirements-browser.txt and Chromium or Chrome; without them the tests are skipped, except in CI.
"""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from book import SITE

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# As root in a container there is no sandbox; nothing of the browser's own may go out.
FLAGS = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync""".split()
ABORTED = "net::ERR_ABORTED"
DESKTOP, PHONE, NARROWEST = 1280, 390, 320
# The theme's faults are mended in web/, so there are no exceptions. The rule by name is one that the theme breaks and
# that axe leaves out unless it is asked for.
RULES = {
    "runOnly": ["wcag2a", "wcag2aa"],
    "rules": {"label-content-name-mismatch": {"enabled": True}},
    "resultTypes": ["violations"],
    "preload": False,
}

UNFOLD = """() => {
  document.querySelectorAll("details").forEach(e => { e.open = true; });
  document.querySelectorAll(".toggle-hidden .toggle-button").forEach(e => e.click());
}"""


def unavailable(reason):
    reason += "; the pages were not tested in a browser"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        unavailable("no Playwright: pip install -r tests/requirements-browser.txt")
    with sync_playwright() as playwright:
        own = next(filter(None, map(shutil.which, BROWSERS)), None)  # None: the one that Playwright installed
        try:
            chromium = playwright.chromium.launch(executable_path=own, args=FLAGS)
        except Error as error:
            why = error.message.splitlines()[0]
            unavailable(f"no browser: install Chromium, or run playwright install chromium ({why})")
        yield chromium
        chromium.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def site():
    assert (SITE / "index.html").is_file(), "there is no site: run make book"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def window(browser):
    """A function that opens an empty window; what goes wrong in one fails the test at its end."""
    contexts, wrong = [], []

    def opened(width=DESKTOP, scheme="light", home="http://127.0.0.1"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: wrong.append(f"outside: {r.url}") if not is_inside(r.url, home) else None)
        # A page that is left before all of it has come breaks its own requests off.
        page.on("requestfailed", lambda r: wrong.append(f"{r.failure}: {r.url}") if r.failure != ABORTED else None)
        page.on("response", lambda r: wrong.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
        page.on("console", lambda m: wrong.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


def is_inside(url, home):
    return url.startswith(home) or urlsplit(url).scheme in ("data", "blob")


def ready(page, url):
    """Open a page and wait for its mathematics, which loads last."""
    page.goto(url)
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.add_style_tag(content="* { animation: none !important; transition: none !important }")


def violations(page):
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=RULES)
    return [f"{v['id']}: {node['html']}" for v in found.response["violations"] for node in v["nodes"]]


def too_wide(page):
    """How many pixels the page can be pushed sideways."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
