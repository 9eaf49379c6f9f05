"""What the tests of lines share."""

import pytest


@pytest.fixture
def ends():
    """Make ends that are closed after the test."""
    from .lines import End  # where cobs is not installed its tests are skipped

    made = []

    def end(open_port, **options) -> End:
        made.append(End(open_port, **options))
        return made[-1]

    yield end
    for one in made:
        one.line.end()


@pytest.fixture
def cable(tmp_path):
    from .lines import Cable

    cable = Cable(tmp_path / "board")
    yield cable
    if cable.master is not None:
        cable.pull()
