"""The built site in a real browser: quiet, complete, accessible, and no wider than the screen.

One test opens a page as a file, as a reader without a server does.
"""

import pytest
from book import PAGES, SITE
from browsing import DESKTOP, NARROWEST, PHONE, UNFOLD, ready, too_wide, violations

EVERY_PAGE = [f"{page}.html" for page in (*PAGES, "genindex", "search")]
NOT_RENDERED = """() => [...document.querySelectorAll(".math")]
  .filter(e => !e.querySelector("mjx-container") || e.querySelector("mjx-merror, [data-mjx-error]"))
  .map(e => e.textContent)"""


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", EVERY_PAGE)
def test_page(window, site, name, scheme, width):
    page = window(width, scheme)
    ready(page, f"{site}/{name}")
    assert page.locator("html").get_attribute("data-theme") == scheme
    assert not page.evaluate(NOT_RENDERED)
    if (scheme, width) == ("light", DESKTOP):
        assert not violations(page), "with everything folded"  # the names of the buttons: once is enough
    page.evaluate(UNFOLD)
    page.wait_for_timeout(400)  # the theme looks 300 ms later which boxes scroll
    assert not violations(page)
    assert too_wide(page) <= 0
    page.set_viewport_size({"width": min(width, NARROWEST), "height": 900})
    assert too_wide(page) <= 0, f"at {NARROWEST} pixels"


def test_figures_keep_their_colours_in_the_dark(window, site):
    page = window(scheme="dark")
    for name in PAGES:
        ready(page, f"{site}/{name}.html")
        filters = page.locator("main img").evaluate_all("images => images.map(i => getComputedStyle(i).filter)")
        assert set(filters) <= {"none"}, name


def test_next_and_previous_lead_through_the_book(window, site):
    page = window()
    ready(page, f"{site}/{PAGES[0]}.html")
    visited = [page.url]
    while page.locator(".right-next").count():
        page.locator(".right-next").click()
        page.wait_for_url(lambda url: url != visited[-1])
        visited.append(page.url)
    assert visited == [f"{site}/{name}.html" for name in PAGES]
    page.locator(".left-prev").click()
    page.wait_for_url(visited[-2])


def test_search_finds_a_word(window, site):
    page = window()
    ready(page, f"{site}/index.html")
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").fill("checkpoint")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=checkpoint")
    results = page.locator("#search-results li a")
    results.nth(2).wait_for()
    assert results.count() >= 3
    assert not violations(page)
    results.first.click()
    assert "checkpoint" in page.locator("main").inner_text().lower()


def test_a_page_opened_as_a_file_is_complete(window):
    page = window(home=SITE.as_uri())
    ready(page, (SITE / "chapters" / "overhead.html").as_uri())
    assert page.locator("mjx-container").count() and not page.evaluate(NOT_RENDERED)
