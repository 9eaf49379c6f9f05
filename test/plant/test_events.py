"""The table of impacts that `simulate --events` writes."""

from types import SimpleNamespace

import numpy as np

from rbdyn_ros.numerics.solvers.fc3d_one_contact import SLIDE
from rbdyn_ros.pendulum import world
from rbdyn_ros.pendulum.bodies import create, take_impacts
from rbdyn_ros.pendulum.spherical_pendulum import Params, build
from rbdyn_ros.plant import rollout
from rbdyn_ros.types import Contacts

ROW = (0.25, world.FLOOR, 2.0, -0.5, 0.0, -8.0, 4.0, SLIDE)


def memory(rows=1):
    """A memory with room for as many impacts."""
    made = create(build(Params(contacts=Contacts(floor=1.0))))
    return made._replace(events=np.zeros((rows, 8)))


def test_impacts_are_taken_once_and_those_without_room_are_counted():
    kept = memory()
    for _ in range(2):
        kept.events[0], kept.recorded[0] = ROW, 2
        rows, lost = take_impacts(kept)
        assert rows.tolist() == [list(ROW)] and lost == 1
    assert len(take_impacts(kept)[0]) == 0


def test_a_file_has_the_columns_and_names_for_numbers(tmp_path):
    none, options = np.empty(0), SimpleNamespace(contact=memory())
    run = rollout.Rollout(none, none, none, none, options=options, impacts=np.array([ROW]))
    rollout.write_impacts(run, tmp_path / "events.csv")
    header, row = (tmp_path / "events.csv").read_text().split()
    assert header == "t,contact,P_n,P_t1,P_t2,u_n_minus,u_n_plus,status"
    t, contact, *numbers, status = row.split(",")
    assert (float(t), contact, status) == (0.25, "floor", "slide")
    assert [float(x) for x in numbers] == [2.0, -0.5, 0.0, -8.0, 4.0]
