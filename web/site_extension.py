"""A local Sphinx extension: what the theme needs to be offline, quiet and accessible."""

from pathlib import Path

HERE = Path(__file__).parent

IN_BODY = (
    ('<summary aria-label="Toggle hidden content">', "<summary>"),  # a label must contain the visible text
    ('<div role="list" class="citation-list">', '<div class="citation-list">'),  # its children are no list items
    (' role="doc-biblioentry"', ""),  # deprecated
    ("Solution to<a ", "Solution to <a "),  # the blank stood inside the link and was underlined
    ('"> Exercise ', '">Exercise '),
)
IN_PAGE = (
    ('title="Search" aria-label="Search"', 'title="Search"'),
    ('aria-label="Color mode" data-bs-title', 'aria-label="Color mode: system settings, dark, light" data-bs-title'),
    ('<div id="pst-primary-sidebar" class', '<div id="pst-primary-sidebar" role="region" aria-label="Book" class'),
)


def _replaced(text, pairs):
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def drop_thebe(app, config):
    """sphinx-thebe names a remote host and declares a constant twice on every page."""
    for event in ("env-before-read-docs", "doctree-resolved"):
        app.events.listeners[event] = [
            listener
            for listener in app.events.listeners.get(event, [])
            if listener.handler.__name__ not in ("init_thebe_core", "update_thebe_context")
        ]


def mend_body(app, pagename, templatename, context, doctree):
    if "body" in context:
        context["body"] = _replaced(context["body"], IN_BODY)


def mend_pages(app, exception):
    if exception is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            page.write_text(_replaced(page.read_text(encoding="utf-8"), IN_PAGE), encoding="utf-8")


def setup(app):
    app.connect("config-inited", drop_thebe, priority=900)
    app.connect("html-page-context", mend_body)
    app.connect("build-finished", mend_pages)
    app.config.html_static_path.append(str(HERE / "static"))
    app.add_css_file("book.css")
    app.add_js_file("book.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
