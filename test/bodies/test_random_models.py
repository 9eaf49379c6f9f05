"""Random models against an independent formulation: see `verification/random_models.py`."""

import numpy as np
import pytest
import random_models


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_steps_obey_the_equations_and_the_contact_law(first):
    outcomes = [random_models.run(seed, 150) for seed in range(first, first + 20)]
    for seed, outcome in enumerate(outcomes, first):
        assert outcome.reason == "", seed
        # where more contacts stick than there are motions no impulses are exact
        for (momenta, opening, law), bound in ((outcome.exact, 2e-10), (outcome.inexact, 2e-5)):
            assert momenta < bound and opening < 1e-13 and law < bound, (seed, outcome)
    steps, touching, stalled = np.sum([(o.steps, o.touching, o.stalled) for o in outcomes], axis=0)
    assert stalled < 0.02 * steps
    assert steps > 1000 and touching > 100


def test_a_joint_stays_shut_where_a_body_moves_far_in_the_last_iteration():
    assert random_models.run(2103, 150).exact[1] < 1e-13
