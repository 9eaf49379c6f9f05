"""The glossary is one page, and what it names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "doc" / "glossary.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| term ")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_term_has_a_meaning_and_its_place_in_the_code(row):
    term, _symbol, _unit, meaning, place = row
    path = re.fullmatch(r"`([a-z0-9_/]+(?:\.py|/))`", place)
    assert term and meaning and path, row
    assert (ROOT / "rbdyn_ros" / path[1]).exists(), f"{term}: rbdyn_ros/{path[1]} is not there"


def test_there_are_sixty_terms_and_each_stands_once():
    terms = [row[0] for row in ROWS]
    assert len(terms) >= 60 and len(set(terms)) == len(terms)
