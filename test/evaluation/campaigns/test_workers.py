"""A worker process that dies is named, whether it had a batch or not."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from rbdyn_ros.evaluation.campaigns import workers

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


def test_after_a_signal_what_has_begun_is_finished_and_no_more(monkeypatch):
    begun, signal, end = threading.Event(), threading.Event(), threading.Event()

    def outcomes(_plan, part):
        begun.set()
        assert end.wait(60.0)
        return {"part": part}

    def go_on() -> bool:
        if begun.is_set():
            signal.set()
            threading.Timer(0.2, end.set).start()
        return not signal.is_set()

    monkeypatch.setattr(workers, "outcomes", outcomes)
    with ThreadPoolExecutor(1) as pool:
        spans = {part: (part,) for part in range(9)}
        assert list(workers.compute(CODE, spans, pool, 3, go_on)) == [(0, {"part": 0})]
