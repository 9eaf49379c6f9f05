"""The executors of a campaign: threads here for compiled laws, processes here for the others, or a
Dask cluster. They have one interface: `submit`.

The results come back to this process, which alone writes them, so that the folder does not depend
on the executor.
"""

import logging
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from rbdyn_ros.evaluation.campaigns.campaign_trial import outcomes
from rbdyn_ros.evaluation.campaigns.plan import CampaignPlan
from rbdyn_ros.interrupts import block
from rbdyn_ros.optional import library
from rbdyn_ros.types import Array

AHEAD = 2  # batches in flight for each worker
ATTEMPTS = 4  # times that a batch whose worker died is tried
TIMEOUT = 15.0  # [s] for a scheduler to answer
LOCAL = "local"


class WorkersDied(RuntimeError):
    """Workers died repeatedly; the sentence says at which samples."""


@contextmanager
def local_executor(jobs: int, compiled: bool) -> Iterator[tuple[Executor, int]]:
    """Yield (executor, workers) on this machine: threads, since compiled code holds no lock, or
    processes.
    """
    if compiled:
        executor = ThreadPoolExecutor(jobs)
    else:
        executor = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))
    try:
        yield executor, jobs
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def cluster_executor(address: str, jobs: int) -> Iterator[tuple[Executor, int]]:
    """Yield (executor, workers) of the Dask scheduler at an address, or of a cluster of `jobs`
    processes here: "local".

    Raise ValueError if no scheduler answers or it has no workers, and MissingLibrary.
    """
    distributed = library("distributed", "cluster", "--scheduler")
    try:
        # workers ignore Ctrl-C, which would end one with its batch
        with block():
            place = address
            if address == LOCAL:
                # what goes wrong in a worker comes back as the result; its own lines about a
                # scheduler that closes would be tracebacks on the terminal
                place = distributed.LocalCluster(
                    jobs,
                    threads_per_worker=1,
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,
                )
            client = distributed.Client(place, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        advice = "start one with `dask scheduler`, check the address, or take --scheduler local"
        raise ValueError(
            f"--scheduler {address}: no scheduler answers "
            f"({' '.join(str(error).split())[:120]}); {advice}"
        ) from error
    try:
        workers = sum(client.nthreads().values())
        if not workers:
            raise ValueError(
                f"--scheduler {address}: it has no workers; start some with `dask worker "
                f"{address}`"
            )
        yield client.get_executor(pure=False, retries=ATTEMPTS), workers
    finally:
        client.close()
        if not isinstance(place, str):  # its own cluster
            place.close()
        logging.disable(logging.NOTSET)  # after Ctrl-C


def compute(
    plan: CampaignPlan,
    spans: dict[int, tuple[int, int]],
    executor: Executor,
    workers: int,
    go_on: Callable[[], bool],
) -> Iterator[tuple[int, dict[str, Array]]]:
    """Yield (part, its columns) of each part of `spans`, part -> (begin, end), in the order in
    which they are done.

    No more than `AHEAD` of them for each worker are in flight, so memory stays bounded. When
    `go_on()`, which is called once a second, is false, those that have begun are finished. Raise
    WorkersDied if workers die repeatedly.
    """
    waiting, under_way = iter(spans.items()), {}
    while True:
        while len(under_way) < AHEAD * workers and go_on() and (following := next(waiting, None)):
            part, span = following
            # a worker may die between two batches too; Ctrl-C is for this process alone
            with _name_deaths(), block():
                under_way[executor.submit(outcomes, plan, *span)] = part
        if not go_on():
            under_way = {future: part for future, part in under_way.items() if not future.cancel()}
        if not under_way:
            return
        done, _ = wait(under_way, timeout=1.0, return_when=FIRST_COMPLETED)
        for future in done:
            with _name_deaths():
                columns = future.result()
            yield under_way.pop(future), columns


@contextmanager
def _name_deaths() -> Iterator[None]:
    """Turn the executors' errors for a dead worker into WorkersDied."""
    try:
        yield
    except BrokenProcessPool:
        raise WorkersDied("a worker process died (out of memory, or killed)") from None
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise WorkersDied(
                f"workers of the cluster died over one batch ({ATTEMPTS} times)"
            ) from None
        raise
