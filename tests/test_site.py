"""The built site, read as files: nothing comes from outside, every link leads somewhere. `make book` builds it."""

import re
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import book
import pytest
from book import ROOT, SITE

PAGES = [f"{page}.html" for page in book.PAGES]
ALL_PAGES = [*PAGES, "search.html", "genindex.html"]

LOADS = {  # what a browser fetches by itself, and from which attribute
    "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
    "embed": "src", "track": "src", "object": "data",
}  # fmt: skip
NOT_FETCHED = {"canonical", "next", "prev", "search", "index", "author", "license", "help", "up", "alternate"}


class Page(HTMLParser):
    """What the tests ask about one page."""

    def __init__(self, html):
        super().__init__()
        self.loads, self.links, self.scripts, self.images, self.anchors = [], [], [], [], set()
        self.css, self.text, self.classes, self.inside = "", "", set(), []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        attributes = {name: value or "" for name, value in attributes}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        self.classes |= set(attributes.get("class", "").split())
        self.css += attributes.get("style", "") + "\n"
        if tag in LOADS and LOADS[tag] in attributes:
            self.loads.append(attributes[LOADS[tag]])
        self.loads += [entry.split()[0] for entry in attributes.get("srcset", "").split(",") if entry.strip()]
        if tag == "link":
            followed = set(attributes.get("rel", "").split()) & NOT_FETCHED
            (self.links if followed else self.loads).append(attributes.get("href", ""))
        if tag == "script":
            self.scripts.append(attributes.get("src", ""))
        if tag == "img":
            self.images.append(attributes)
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag in ("script", "style", "title", "pre", "code"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.text += data
        elif self.inside[-1] == "style":
            self.css += data


@cache
def html(page):
    file = SITE / page
    assert file.is_file(), f"{file.relative_to(ROOT)} is missing: run make book"
    return file.read_text(encoding="utf-8")


@cache
def parsed(page):
    return Page(html(page))


def is_outside(address):
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def target(page, address):
    """The file in the site that an address on a page leads to."""
    path = unquote(urlsplit(address).path)
    return (SITE / page).parent.joinpath(path).resolve() if path else (SITE / page).resolve()


def css_loads(css):
    return re.findall(r"(?:url\(\s*|@import\s+)['\"]?([^'\")\s;]+)", css)


each_page = pytest.mark.parametrize("page", ALL_PAGES)
each_content_page = pytest.mark.parametrize("page", PAGES)


def test_the_site_holds_the_pages_of_the_contents_and_no_others():
    built = {str(file.relative_to(SITE)) for file in SITE.rglob("*.html") if "_static" not in file.parts}
    assert built == set(ALL_PAGES)


@each_page
def test_nothing_is_loaded_from_outside(page):
    loads = parsed(page).loads + css_loads(parsed(page).css)
    assert loads and not [address for address in loads if is_outside(address)]
    assert not [address for address in loads if urlsplit(address).path and not target(page, address).is_file()]


@each_page
def test_style_sheets_load_nothing_from_outside(page):
    sheets = [target(page, address) for address in parsed(page).loads if urlsplit(address).path.endswith(".css")]
    assert sheets
    for sheet in sheets:
        outside = [address for address in css_loads(sheet.read_text(encoding="utf-8")) if is_outside(address)]
        assert not outside, f"{sheet.name}: {outside}"


@each_page
def test_every_link_leads_somewhere(page):
    dead = []
    for address in parsed(page).links:
        if is_outside(address):
            continue
        file, anchor = target(page, address), unquote(urlsplit(address).fragment)
        if not file.is_file() or SITE.resolve() not in file.parents:
            dead.append(address)
        elif anchor and file.suffix == ".html":
            if anchor not in parsed(str(file.relative_to(SITE.resolve()))).anchors:
                dead.append(address)
    assert not dead


@each_page
def test_links_to_other_sites_are_meant(page):
    """A file name such as README.md in a table turns into a link to http://README.md by itself."""
    outside = [address for address in parsed(page).links if is_outside(address)]
    assert not [address for address in outside if urlsplit(address).scheme not in ("https", "mailto")]


@each_page
def test_every_image_says_what_it_shows(page):
    for image in parsed(page).images:
        alt = image.get("alt", "")
        assert alt.strip() and not re.search(r"\.(png|svg|jpe?g)$|^_images", alt), image


@each_content_page
def test_mathematics_comes_from_the_site(page):
    if "math" in parsed(page).classes:
        sources = [source for source in parsed(page).scripts if "mathjax" in source.lower()]
        assert len(sources) == 1 and urlsplit(sources[0]).path.endswith("_static/mathjax/tex-chtml.js")


@each_content_page
def test_no_markup_is_left_in_the_text(page):
    """A Markdown output shows raw $ and | where it was not read as Markdown."""
    left = re.search(r".*(\$|\|\s*:?-{2,}).*", parsed(page).text)
    assert not left, left[0]


@each_page
def test_thebe_is_absent(page):
    assert not [address for address in parsed(page).scripts if "thebe" in address]
    assert not re.search(r"thebe-|thebelab|initThebe", html(page))


@each_content_page
def test_pages_follow_each_other(page):
    place = PAGES.index(page)
    neighbours = re.findall(r'<a class="(left-prev|right-next)"\s+href="([^"]+)"', html(page))
    expected = {}
    if place > 0:
        expected["left-prev"] = PAGES[place - 1]
    if place < len(PAGES) - 1:
        expected["right-next"] = PAGES[place + 1]
    assert {side: str(target(page, a).relative_to(SITE.resolve())) for side, a in neighbours} == expected


def test_the_front_page_is_a_page():
    front = parsed("index.html")
    assert "http-equiv" not in html("index.html").lower().replace('http-equiv="content-type"', "")
    assert "How Often to Save" in front.text and len(front.text.split()) > 150
    assert any(link.startswith("chapters/") for link in front.links)


def test_there_is_a_search_index():
    index = (SITE / "searchindex.js").read_text(encoding="utf-8")
    for page in book.PAGES:
        assert f'"{page}"' in index
    assert "searchindex.js" in html("search.html")
