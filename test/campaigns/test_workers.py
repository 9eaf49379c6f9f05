"""A worker process that dies is named, whether it had a batch or not."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from rbdyn_ros.campaigns import workers

CODE = 1


@pytest.fixture
def pool():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as running:
        yield running


@pytest.fixture
def deadly(pool, monkeypatch):
    """A campaign of which each batch ends the worker: os._exit(CODE)."""
    monkeypatch.setattr(workers, "outcomes", os._exit)
    return workers.compute(CODE, {"part": ()}, pool, 1, lambda: True)


def test_a_worker_that_dies_over_a_batch_is_named(deadly):
    with pytest.raises(workers.WorkersDied, match="a worker process died"):
        next(deadly)


def test_a_worker_that_died_between_two_batches_is_named(pool, deadly):
    assert pool.submit(os._exit, CODE).exception() is not None
    with pytest.raises(workers.WorkersDied, match="a worker process died"):
        next(deadly)
