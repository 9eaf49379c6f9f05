"""The browser of these tests."""

from view_browser import browser

__all__ = ["browser"]
