"""The command `sweep`: campaigns of thousands of closed loops over starts and parameters, in parts
that survive an interruption.
"""

import argparse
import errno
import logging
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rbdyn_ros.console import SIGNAL
from rbdyn_ros.files import expand, write_or_rescue
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.optional import library
from rbdyn_ros.parameters import shipped
from rbdyn_ros.parameters.command_line import (
    FORMAT,
    add_options,
    cannot_write,
    count_jobs,
    message_printer,
    overrides,
)
from rbdyn_ros.progress import bar

if TYPE_CHECKING:
    from rbdyn_ros.evaluation.campaigns.plan import CampaignPlan
    from rbdyn_ros.evaluation.campaigns.store import Store

COMMAND = "python -m rbdyn_ros sweep"
HELP = "Run a campaign over grids and random samples of parameters."
EXAMPLES = f"""\
# 200 x 200 starts, lqr and swing_up: seconds
{COMMAND} --preset region_of_attraction --out roa
{COMMAND} --preset mismatch --controller swing_up --out wrong
# go on where it was interrupted; on Dask, or tcp://host:8786
{COMMAND} mine.yaml --out mine --resume
{COMMAND} mine.yaml --out mine --scheduler local
# presets, and every name that can vary
{COMMAND} --list
"""
_say = message_printer(COMMAND)
DONE, CANNOT_WRITE, BAD_INPUT, WORKERS_DIED = 0, 1, 2, 3
RETRIES = 3  # new sets of workers, where some died


class SweepJob(NamedTuple):
    """The campaign that the options ask for."""

    plan: "CampaignPlan"
    store: "Store"
    jobs: int
    compiled: bool
    scheduler: str | None
    form: str  # of the picture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; their values are checked by `job`."""
    option = parser.add_argument
    option(
        "file",
        nargs="?",
        metavar="FILE.yaml",
        help="Run the campaign of this file; doc/campaigns.md explains how to write one.",
    )
    add_options(
        parser,
        ("--preset", "NAME", "Run a campaign that comes with the package; see --list."),
        ("--list", None, "List the presets, and every name that a campaign can fix or vary."),
        (
            "--controller",
            "NAME",
            "Use this law, by name or path/to/law.py, instead of the laws of the campaign.",
        ),
        (
            "--set",
            "NAME=VALUE ...",
            "Override an entry of the file, as in 'rod.mass={grid: [0.5, 2, "
            "16]}'; may be repeated.",
        ),
        (
            "--out",
            "DIR",
            "Write the results to this folder, which must be new or empty "
            "(default: the campaign's name).",
        ),
        FORMAT,
        ("--resume", None, "Continue the interrupted campaign in DIR."),
        (
            "--jobs",
            "N",
            "Use N threads, or processes if the law is not compiled (default: one "
            "for each processor).",
            "0",
        ),
        (
            "--scheduler",
            "ADDRESS",
            "Compute on Dask, given the address of its scheduler, or local for a "
            "cluster of --jobs processes here.",
        ),
    )


def run(arguments: argparse.Namespace) -> int:
    """Run a campaign and return the exit code: 0 done, 1 cannot write, 2 bad input, 3 workers died
    too often, 128 + n signal n, after which --resume continues.
    """
    from rbdyn_ros.evaluation.campaigns.workers import WorkersDied

    try:
        if arguments.list:
            return _list()
        planned = job(arguments)
        if anew := planned.store.open(arguments.resume):
            _say(anew, DONE)
        return _compute(planned)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    except WorkersDied as error:
        return _say(
            f"{error}; what was computed is kept: take fewer --jobs and add --resume", WORKERS_DIED
        )
    except OSError as error:
        advice = (
            "make room, then add --resume"
            if error.errno == errno.ENOSPC
            else "choose another --out"
        )
        return _say(cannot_write(error, arguments.out, advice), CANNOT_WRITE)


def job(arguments: argparse.Namespace) -> SweepJob:
    """Return the campaign that the arguments ask for. Raise ValueError, in one sentence, for what
    does not fit.
    """
    path = _file(arguments)
    if arguments.scheduler:
        library("distributed", "cluster", "--scheduler")
    jobs, given = count_jobs(arguments.jobs), overrides(arguments, {"controller": "controller"})

    from rbdyn_ros.control import law_selection, provenance
    from rbdyn_ros.evaluation.campaigns import campaign_trial, plan, store

    planned = plan.read(path, given)
    compiled = campaign_trial.is_compiled(planned)
    sitting = provenance.sitting(*map(law_selection.load, planned.laws))
    kept = store.Store(
        expand(arguments.out or path.stem), planned, compiled, store.identities(planned), sitting
    )
    return SweepJob(planned, kept, jobs, compiled, arguments.scheduler, arguments.format)


def _file(arguments: argparse.Namespace) -> Path:
    if bool(arguments.file) == bool(arguments.preset):
        raise ValueError("give a campaign's FILE.yaml or one --preset; see --list")
    if arguments.file:
        return Path(arguments.file)
    return shipped.find("--preset", arguments.preset, "campaigns")


def _list() -> int:
    from rbdyn_ros.control import law_selection
    from rbdyn_ros.evaluation.campaigns import quantities
    from rbdyn_ros.schema import describe_allowed, with_unit

    print("presets: " + ", ".join(shipped.names("campaigns")))
    print(
        "laws: "
        + ", ".join(law_selection.names())
        + "; an option of a law is NAME.OPTION, such as lqr.tilt_weight\n"
    )
    for p in (*quantities.OF_THE_WHOLE, *quantities.COMMON):
        allowed = describe_allowed(p)
        print(f"{with_unit(p.name, p.unit)}\n    {p.description} Allowed: {allowed}.")
    return DONE


def _compute(job: SweepJob) -> int:
    from rbdyn_ros.evaluation.campaigns.workers import WorkersDied

    _warm_up(job)
    began, before = time.perf_counter(), len(job.store.missing_parts()[0])
    for fault in job.store.missing_parts()[1]:
        _say(fault, DONE)
    with Interruption() as stop:
        for retry in range(RETRIES + 1):
            try:
                _carry_out(job, stop)
                break
            except WorkersDied as error:
                if retry == RETRIES:
                    raise
                _say(f"{error}; new ones go on", DONE)
    left = len(job.store.missing_parts()[0])
    if left:
        code = SIGNAL + (stop.signal or signal.SIGINT)
        return _say(
            f"interrupted with {job.store.count - left} of {job.store.count} parts done; add "
            "--resume to go on",
            code,
        )
    return _report(job, time.perf_counter() - began, before)


def _warm_up(job: SweepJob) -> None:
    """Compile once here what the workers then find in the cache."""
    from rbdyn_ros.evaluation.campaigns.campaign_trial import outcomes

    if job.compiled:
        first = job.plan._replace(
            fixed=tuple((n, 0.02 if n == "duration" else value) for n, value in job.plan.fixed)
        )
        for begin in range(0, job.plan.size, max(1, job.plan.size // len(job.plan.laws))):
            outcomes(first, begin, begin + 1)


def _carry_out(job: SweepJob, stop) -> None:
    """Compute and keep what is missing, until it is done or a signal comes."""
    from rbdyn_ros.evaluation.campaigns import workers

    spans = {part: job.store.span(part) for part in job.store.missing_parts()[0]}
    place = (
        workers.cluster_executor(job.scheduler, job.jobs)
        if job.scheduler
        else workers.local_executor(job.jobs, job.compiled)
    )
    total, done, said = sum(end - begin for begin, end in spans.values()), 0, False

    def go_on() -> bool:
        nonlocal said
        if stop.signal and job.scheduler:  # a cluster drops them, and logs how, at times an error
            logging.disable()
        elif stop.signal and not said:
            said = True
            print("finishing and keeping the parts that have begun ...", file=sys.stderr)
        return not stop.signal

    with place as (executor, count), bar(total, "samples") as show:
        for part, columns in workers.compute(job.plan, spans, executor, count, go_on):
            job.store.write(part, columns)
            done += len(columns["sample"])
            show(done)


def _report(job: SweepJob, seconds: float, parts: int) -> int:
    from rbdyn_ros.evaluation.campaigns import picture, store

    found, folder = store.read(job.store), job.store.folder
    print(store.summary(found))
    print(
        f"{job.plan.size} samples, {parts} of {job.store.count} parts computed in {seconds:.1f} s",
        flush=True,
    )
    summary, why = write_or_rescue(
        folder / "summary.json", partial(store.write, found, provenance=job.store.provenance)
    )
    place = folder / f"campaign.{job.form}"
    drawn, why_not = write_or_rescue(place, partial(picture.write, found))
    print("\n".join(f"wrote {path}" for path in (drawn, summary, folder / "parts")))
    elsewhere = "; ".join(filter(None, (why, why_not)))
    return _say(elsewhere, CANNOT_WRITE) if elsewhere else DONE
