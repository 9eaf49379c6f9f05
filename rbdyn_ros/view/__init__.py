"""The live view in the browser: one page, and what fills it."""
