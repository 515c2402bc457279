"""Generated inputs: a first call compiles its formula and is slow, so there is no deadline for one example.

The fixtures of the browser are imported here, so that all tests share one browser.
"""

from browsing import browser, site, window  # noqa: F401
from hypothesis import settings

settings.register_profile("book", deadline=None)
settings.load_profile("book")
