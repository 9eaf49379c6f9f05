"""The glossary is one page, and what it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "doc" / "glossary.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| term ")
]


def test_each_term_stands_once_with_a_meaning_and_its_place_in_the_code():
    for row in ROWS:
        term, _symbol, _unit, meaning, place = row
        path = re.fullmatch(r"`([a-z0-9_/]+(?:\.py|/))`", place)
        assert term and meaning and path, row
        assert (ROOT / "rbdyn_ros" / path[1]).exists(), f"{term}: rbdyn_ros/{path[1]} is gone"
    terms = [row[0] for row in ROWS]
    assert terms and len(set(terms)) == len(terms)
