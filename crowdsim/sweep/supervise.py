"""A sweep from its first run to its last: what is finished is not done again, what fails costs itself alone,
and the tables are made of what is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from crowdsim.errors import ClusterError, CrowdsimError
from crowdsim.sweep.code import code_version
from crowdsim.sweep.folder import FINISHED, FORMAT, FORMAT_VERSION, Folder, write_json
from crowdsim.sweep.plan import Plan, Run
from crowdsim.sweep.pools import LocalPool
from crowdsim.sweep.tables import write_tables

if TYPE_CHECKING:
    from crowdsim.sweep.cluster import Cluster

Pool: TypeAlias = "LocalPool | Cluster"  # what does the runs

LOOK_SECONDS = 0.2  # Between two calls of a progress function.


@dataclass(frozen=True)
class Limits:
    """What each run of a sweep may have.

    Attributes
    ----------
    threads : int
        Threads of its kernels; they change nothing but the time.
    timeout : float, s
        Wall time; 0 is no limit.
    memory : int
        Bytes beyond what a process has that is about to begin; 0 is no limit.
    """

    threads: int = 1
    timeout: float = 0.0
    memory: int = 0


@dataclass
class Report:
    """How far a sweep is.

    Attributes
    ----------
    asked : int
        Different runs of the design.
    known : int
        Those that were finished, or had failed, before.
    finished, failed : int
        Those that ended now.
    seconds : float
        Wall time since the first was begun.
    failures : list of dict
        Results of all failed runs of the design, the known ones included.
    tables : tuple of Path
        Runs, clock readings and means, once they are written.
    means : DataFrame
        Over the runs of each combination, see `crowdsim.sweep.tables.means_of`; empty until then.
    """

    asked: int
    known: int = 0
    finished: int = 0
    failed: int = 0
    seconds: float = 0.0
    failures: list[dict[str, Any]] = field(default_factory=list)
    tables: tuple[Path, ...] = ()
    means: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def left(self) -> int:
        """Runs that are still to end."""
        return self.asked - self.known - self.finished - self.failed

    @property
    def rate(self) -> float:
        """Runs that ended in a second; 0 before the first."""
        return (self.finished + self.failed) / self.seconds if self.seconds > 0.0 else 0.0


def task_of(plan: Plan, run: Run, folder: Folder, limits: Limits, *, record: bool) -> dict[str, Any]:
    """Return one run as plain values: all that a process needs that shares nothing with this one but the
    folder.
    """
    return {
        "id": run.id,
        "folder": str(folder.path.resolve()),
        "file": str(plan.source.scenario),
        "text": run.text,
        "kind": run.kind,
        "seed": run.seed,
        "plugins": [str(each.resolve()) for each in plan.source.plugins],
        "record": record,
        "threads": limits.threads,
        "timeout": limits.timeout,
        "memory": limits.memory,
    }


def waiting(
    plan: Plan, folder: Folder, *, record: bool, retry: bool = False
) -> tuple[list[Run], list[dict[str, Any]]]:
    """Return the runs that have yet to be done, each once, and the results of the others.

    Parameters
    ----------
    plan : Plan
    folder : Folder
    record : bool
        A finished run without a recording is done again.
    retry : bool
        So is a run that failed.
    """
    todo, known = [], []
    for run in {run.id: run for run in reversed(plan.runs)}.values():
        result = folder.known(run.id, recorded=record)
        if result is None or (retry and result["status"] != FINISHED):
            todo.append(run)
        else:
            known.append(result)
    return sorted(todo, key=lambda run: run.number), known


def run_sweep(
    plan: Plan,
    folder: Folder,
    *,
    workers: int = 1,
    limits: Limits | None = None,
    record: bool = True,
    retry: bool = False,
    scratch: Path | None = None,
    progress: Callable[[Report], None] | None = None,
) -> Report:
    """Do all runs of a plan that are not done yet, on this machine, and write the tables.

    Parameters
    ----------
    plan : Plan
    folder : Folder
    workers : int
        Runs that go on at once.
    limits : Limits, optional
    record : bool
        Keep a recording of each run.
    retry : bool
        Do runs again that failed.
    scratch : Path, optional
        A folder in which runs write until they have ended, on a disk of this machine; default: in the folder
        of the sweep.
    progress : callable, optional
        Called with the report some five times a second.

    Returns
    -------
    Report

    Raises
    ------
    CrowdsimError
        If the folder is something else, or another sweep is at work in it.
    KeyboardInterrupt
        If it was interrupted; runs that went on are gone without trace, tables are written of the others, and
        the same call goes on.
    """
    if workers < 1:
        raise CrowdsimError(f"there are {workers} workers, but a sweep needs at least 1.")
    with LocalPool(workers, scratch) as pool:
        return supervise(
            plan, folder, pool, limits=limits or Limits(), record=record, retry=retry, progress=progress
        )


def supervise(
    plan: Plan,
    folder: Folder,
    pool: Pool,
    *,
    limits: Limits,
    record: bool = True,
    retry: bool = False,
    progress: Callable[[Report], None] | None = None,
) -> Report:
    """Do the same with any pool of workers that see the folder: whatever has the methods of `LocalPool`,
    for example a `crowdsim.sweep.cluster.Cluster`.

    Parameters
    ----------
    plan : Plan
    folder : Folder
    pool : Pool
    limits : Limits
    record, retry : bool
    progress : callable or None
        As for `run_sweep`.

    Returns
    -------
    Report

    Raises
    ------
    ClusterError
        If the pool is lost; the tables are written, and the same call goes on.
    """
    folder.require_usable()
    with folder.held():
        todo, known = waiting(plan, folder, record=record, retry=retry)
        write_json(folder.manifest, manifest_of(plan, record=record))
        report = Report(
            asked=len(todo) + len(known),
            known=len(known),
            failures=[each for each in known if each["status"] != FINISHED],
        )
        began, stopped_by = time.monotonic(), None
        try:
            if todo:
                pool.begin(plan, folder)
            for result in _ended(
                iter([task_of(plan, run, folder, limits, record=record) for run in todo]),
                pool,
                report,
                began,
                progress,
            ):
                # A network's file system may be late to show what another machine wrote.
                if folder.read_result(result["id"]) is None:
                    write_json(folder.result(result["id"]), result)
                report.finished += result["status"] == FINISHED
                report.failed += result["status"] != FINISHED
                if result["status"] != FINISHED:
                    report.failures.append(result)
        except (KeyboardInterrupt, ClusterError) as stopping:
            stopped_by = stopping
        finally:
            pool.end()
        report.seconds = time.monotonic() - began
        order = {run.id: run.number for run in reversed(plan.runs)}
        report.failures.sort(key=lambda result: order[result["id"]])
        report.tables, report.means = write_tables(plan, folder, record=record)
        if stopped_by is not None:
            raise stopped_by
    return report


def _ended(
    tasks: Iterator[dict[str, Any]],
    pool: Pool,
    report: Report,
    began: float,
    progress: Callable[[Report], None] | None,
) -> Iterator[dict[str, Any]]:
    """Yield the results of tasks as they end; so many at once are handed out as the pool has places."""
    pending: dict[Future[dict[str, Any]], dict[str, Any]] = {}
    while True:
        while len(pending) < pool.places and (task := next(tasks, None)) is not None:
            pending[pool.submit(task)] = task
        if not pending:
            return
        done, _ = wait(pending, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            task = pending.pop(future)
            result = pool.settle(task, future)
            if result is None:
                pending[pool.submit(task)] = task
            else:
                yield result
        pool.look()
        if progress is not None:
            report.seconds = time.monotonic() - began
            progress(report)


def manifest_of(plan: Plan, *, record: bool) -> dict[str, Any]:
    """Return what was asked for, as plain values. It has no times: the same sweep has the same manifest."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "name": plan.name,
        "scenario": str(plan.source.scenario),
        "set": list(plan.source.sets),
        "plugins": [str(each) for each in plan.source.plugins],
        "allow_dirs": [str(each) for each in plan.source.allow_dirs],
        "code": code_version(),
        "recordings": record,
        "keys": plan.keys,
        "runs": [
            {"run": run.number, "id": run.id, "seed": run.seed, "values": run.point} for run in plan.runs
        ],
    }
