"""The live view in the browser: one page, and its sources."""
