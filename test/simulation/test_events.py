"""The table of impacts that `simulate --events` writes."""

from types import SimpleNamespace

import numpy as np

from rbdyn_ros.mechanics.pendulum import world
from rbdyn_ros.mechanics.pendulum_contact.contact_state import create, record_impact, take_impacts
from rbdyn_ros.mechanics.solvers.fc3d_one_contact import SLIDE
from rbdyn_ros.simulation import rollout


def test_impacts_are_taken_once_and_those_without_room_are_counted():
    kept = create(events=1)
    for _ in range(2):
        for t in (0.25, 0.5):
            record_impact(kept, t, world.FLOOR, (2.0, -0.5, 0.0), -8.0, 4.0)
        rows, lost = take_impacts(kept)
        assert rows[:, 0].tolist() == [0.25] and lost == 1
    assert len(take_impacts(kept)[0]) == 0


def test_a_file_has_the_columns_and_names_for_numbers(tmp_path):
    kept = create()
    kept.status[world.FLOOR] = SLIDE
    record_impact(kept, 0.25, world.FLOOR, (2.0, -0.5, 0.0), -8.0, 4.0)
    none, options = np.empty(0), SimpleNamespace(contact=kept)
    rows, _ = take_impacts(kept)
    run = rollout.Rollout(none, none, none, none, options=options, impacts=rows)
    rollout.write_impacts(run, tmp_path / "events.csv")
    header, row = (tmp_path / "events.csv").read_text().split()
    assert header == "t,contact,P_n,P_t1,P_t2,u_n_minus,u_n_plus,status"
    t, contact, *numbers, status = row.split(",")
    assert (float(t), contact, status) == (0.25, "floor", "slide")
    assert [float(x) for x in numbers] == [2.0, -0.5, 0.0, -8.0, 4.0]
