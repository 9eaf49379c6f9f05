"""The table of impacts that `simulate --events` writes."""

from rbdyn_ros.mechanics.pendulum import world
from rbdyn_ros.mechanics.pendulum_contact.contact_state import create, event
from rbdyn_ros.mechanics.solvers.fc3d_one_contact import SLIDE
from rbdyn_ros.simulation.record import write_events


def test_a_file_has_the_columns_names_for_numbers_and_counts_what_did_not_fit(tmp_path):
    kept = create(events=1)
    kept.status[world.FLOOR] = SLIDE
    for t in (0.25, 0.5):
        event(kept, t, world.FLOOR, (2.0, -0.5, 0.0), -8.0, 4.0)
    assert write_events(kept, tmp_path / "events.csv") == 1
    header, row = (tmp_path / "events.csv").read_text().split()
    assert header == "t,contact,P_n,P_t1,P_t2,u_n_minus,u_n_plus,status"
    t, contact, *numbers, status = row.split(",")
    assert (float(t), contact, status) == (0.25, "floor", "slide")
    assert [float(x) for x in numbers] == [2.0, -0.5, 0.0, -8.0, 4.0]
