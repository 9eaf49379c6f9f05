"""A campaign's folder: whole parts only, none twice, none of another campaign."""

import numpy as np
import pytest

from rbdyn_ros import optional
from rbdyn_ros.evaluation.campaigns.plan import Axis, CampaignPlan, Draw
from rbdyn_ros.evaluation.campaigns.store import Store

PLAN = CampaignPlan(
    (("duration", 1.0),),
    (Axis("start.tilt", tuple(map(float, range(100)))),),
    (Draw("rod.mass", "uniform", (1.0, 2.0)),),
    10,
    0,
)
pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'rbdyn_ros[sweep]'")


def columns(store, part):
    begin, end = store.span(part)
    n = end - begin
    return {
        "sample": np.arange(begin, end),
        "ended": np.full(n, "settled", object),
        "settled": np.arange(n) / 3.0,
    }


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "out", PLAN, compiled=True)
    opened.open(resume=False)
    return opened


def test_batches_cover_every_sample_once(store):
    spans = [store.span(part) for part in range(store.count)]
    assert [begin for begin, _ in spans] == [0] + [end for _, end in spans[:-1]]
    assert spans[-1][1] == PLAN.size


def test_what_is_written_is_read(store):
    for part in (0, 2):
        store.write(part, columns(store, part))
    assert store.missing_parts() == ([1, 3], [])
    np.testing.assert_array_equal(
        np.concatenate([batch["settled"] for batch in store.batches()])[:256], np.arange(256) / 3.0
    )
    assert not list(store.folder.rglob(".*"))


def test_the_same_columns_are_the_same_bytes(store):
    store.write(1, columns(store, 1))
    before = store.path(1).read_bytes()
    store.write(1, columns(store, 1))
    assert store.path(1).read_bytes() == before


@pytest.mark.parametrize("keep", (0.0, 0.3, 0.98))
def test_a_part_that_was_cut_off_is_named_and_missing(store, keep):
    store.write(1, columns(store, 1))
    content = store.path(1).read_bytes()
    store.path(1).write_bytes(content[: int(keep * len(content))])
    missing, broken = store.missing_parts()
    assert 1 in missing
    assert len(broken) == 1 and "part-000001.parquet is cut off or damaged" in broken[0]


def test_a_part_of_another_campaign_is_not_taken(store, tmp_path):
    other = Store(tmp_path / "other", PLAN._replace(seed=9), compiled=True)
    other.open(resume=False)
    other.write(0, columns(other, 0))
    store.path(0).write_bytes(other.path(0).read_bytes())
    assert "not of this campaign" in store.missing_parts()[1][0]


def test_going_on_must_be_said_once_there_is_something(store):
    Store(store.folder, PLAN, compiled=True).open(resume=False)
    store.write(0, columns(store, 0))
    with pytest.raises(ValueError, match="--resume"):
        Store(store.folder, PLAN, compiled=True).open(resume=False)
    Store(store.folder, PLAN, compiled=True).open(resume=True)


@pytest.mark.parametrize(
    ("change", "named"),
    (
        (dict(seed=1), "seed was 0, now 1"),
        (dict(draws=10**6), "holds another campaign: draws was .*; batch was"),
        (dict(fixed=(("duration", 2.0),)), "duration was 1.0, now 2.0"),
        (dict(drawn=()), "rod.mass was .*uniform.*, now not there"),
    ),
)
def test_another_campaign_is_refused(store, change, named):
    with pytest.raises(ValueError, match=named):
        Store(store.folder, PLAN._replace(**change), compiled=True).open(resume=True)


LAWS = {
    "lqr": {
        "files": {"lqr.py": "aa"},
        "options": {"lqr.gain": {"value": 1.0, "default": 1.0, "unit": ""}},
        "versions": {"numpy": "2"},
    }
}


@pytest.mark.parametrize(
    ("change", "why"),
    (
        ({"files": {"lqr.py": "bb"}}, "lqr.py was changed"),
        (
            {"options": {"lqr.gain": {"value": 2.0, "default": 2.0, "unit": ""}}},
            "lqr.gain was 1.0, now 2.0",
        ),
        ({"versions": {"numpy": "3"}}, "numpy was 2, now 3"),
    ),
)
def test_another_law_begins_anew_and_says_why(tmp_path, change, why):
    """The parts of the law that was are kept beside, and none of them is taken."""
    folder = tmp_path / "out"
    first = Store(folder, PLAN, True, LAWS, {"date": "yesterday"})
    assert first.open(resume=False) == ""
    first.write(0, columns(first, 0))
    same = Store(folder, PLAN, True, LAWS, {"date": "today"})
    assert same.open(resume=True) == "" and same.missing_parts()[0] == [1, 2, 3]
    assert [sitting["date"] for sitting in same.provenance["sittings"]] == ["yesterday", "today"]
    other = Store(folder, PLAN, True, {"lqr": {**LAWS["lqr"], **change}}, {"date": "tomorrow"})
    assert (
        other.open(resume=True)
        == f"--resume begins anew: {why}; what was computed before is kept in {folder / 'parts.1'}"
    )
    assert other.missing_parts() == ([0, 1, 2, 3], []) and [
        path.name for path in (folder / "parts.1").iterdir()
    ] == ["part-000000.parquet"]
    assert [sitting["date"] for sitting in other.provenance["sittings"]] == ["tomorrow"]
    other.path(0).write_bytes((folder / "parts.1" / "part-000000.parquet").read_bytes())
    assert "not of this campaign" in other.missing_parts()[1][0]


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ValueError, match="not empty and holds no campaign"):
        Store(tmp_path, PLAN, compiled=True).open(resume=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("text", ['{"seed": ', 100_000 * "["], ids=["cut off", "too deep"])
def test_a_heading_that_is_none(store, text):
    (store.folder / "campaign.json").write_text(text)
    with pytest.raises(ValueError, match="campaign.json is damaged"):
        Store(store.folder, PLAN, compiled=True).open(resume=True)


def test_without_pyarrow_there_is_a_sentence(tmp_path, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(optional, "import_module", absent)
    monkeypatch.setattr(optional, "find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match="sweep needs pyarrow, which is not installed: run ./testbed setup, or"
    ):
        Store(tmp_path, PLAN, compiled=True)
