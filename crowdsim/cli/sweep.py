"""``crowdsim sweep``: many runs of a scenario, each in a process of its own,
and one table of their results.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.figures import means_text
from crowdsim.cli.options import AllowDir, Plugins, SetValues, known_folders, load_plugins
from crowdsim.cli.progress import Progress, clock_text
from crowdsim.cli.run import RUNS, stoppable
from crowdsim.cli.shell import complain, complain_of, say, say_json, table
from crowdsim.errors import CrowdsimError, ExitCode
from crowdsim.printable import without_nan

if TYPE_CHECKING:
    from crowdsim.sweep.folder import Folder
    from crowdsim.sweep.plan import Plan
    from crowdsim.sweep.supervise import Pool, Report

MOST_LISTED = 40  # runs that --dry-run lists; --json has them all
MOST_FAILURES = 10
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def sweep(
    scenario: Annotated[
        Path, typer.Argument(help="Scenario file, or sweep file (YAML that names a scenario and designs).")
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=A,B,...",
            help="Values of one key, for example --vary groups.0.count=100,200; several keys are combined.",
        ),
    ] = None,
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds",
            metavar="0:10",
            help="Seeds of each combination: 0:10 is 0 to 9; or 1,5,7. Default: its own.",
        ),
    ] = "",
    set_: SetValues = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder of the sweep; default runs/<name of the file>."
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", "-w", min=0, help="Runs that go on at once; 0 is as many as there are cores."
        ),
    ] = 0,
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help=(
                "Scheduler of dask whose workers do the runs: its address (tcp://...) or its scheduler file."
            ),
        ),
    ] = "",
    patience: Annotated[
        float,
        typer.Option(
            "--wait-for-workers",
            min=0.0,
            metavar="SECONDS",
            help="How long to wait where a cluster has none.",
        ),
    ] = 300.0,
    scratch: Annotated[
        Path | None,
        typer.Option(
            "--scratch",
            metavar="DIR",
            help=(
                "Local folder where runs write until they end; default: in the sweep's, on clusters the "
                "worker's."
            ),
        ),
    ] = None,
    threads: Annotated[
        int,
        typer.Option(
            "--threads-per-run", min=1, help="Threads of each run; they change nothing but the time."
        ),
    ] = 1,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", min=0.0, metavar="SECONDS", help="A run that takes longer is ended; 0 is no limit."
        ),
    ] = 0.0,
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Memory that a run may ask for, for example 2G. Default: no limit.",
        ),
    ] = "",
    no_record: Annotated[
        bool, typer.Option("--no-record", help="Keep no recordings, only the tables.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry-failed", help="Do runs again that failed before.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would run, with an estimate, and run nothing.")
    ] = False,
    allow_dir: AllowDir = None,
    plugin: Plugins = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no summary, only errors.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the outcome, or with --dry-run the list, as JSON.")
    ] = False,
) -> int:
    """Run all combinations of values of a scenario, each in a process of its own;
    the same command goes on where it was stopped.

    Exit codes: 0 all runs ended, whatever their results; 2 mistakes, reported before anything runs; 4 the
    folder cannot be written; 8 some runs failed; 9 the cluster cannot be reached, cannot do the runs, or was
    lost; 130 by Ctrl-C.
    """
    limit = bytes_of(memory)
    if cluster and workers:
        raise CrowdsimError(
            "--workers is for this machine, and the workers of a cluster are those that it has. Leave out "
            "one or the other."
        )
    with Progress(enabled=not (quiet or json)) as progress, stoppable(), contextlib.ExitStack() as stack:
        progress.note("loading")
        from crowdsim.kernels.threads import available_cores
        from crowdsim.sweep.folder import Folder
        from crowdsim.sweep.supervise import Limits, supervise

        load_plugins(plugin)
        plan = _planned(
            scenario, vary or [], seeds, set_ or [], known_folders(allow_dir), plugin or [], progress
        )
        folder = Folder(out or RUNS / plan.name)
        folder.require_usable()
        complain_of(plan.notes)
        progress.note("waiting for workers" if cluster else "compiling or loading kernels")
        pool = _pool(cluster, workers or max(1, available_cores() // threads), scratch, patience)
        stack.enter_context(pool)
        if dry_run:
            count = pool.ready()
            progress.note("")
            return _list_runs(plan, folder, count, record=not no_record, retry=retry, json=json)
        try:
            report = supervise(
                plan,
                folder,
                pool,
                limits=Limits(threads, timeout, limit),
                record=not no_record,
                retry=retry,
                progress=lambda report: progress.line(
                    _progress_lines(report), 1.0 - report.left / max(1, report.asked)
                ),
            )
        except KeyboardInterrupt:
            progress.note("")
            complain(
                f"interrupted; what has finished is kept in {folder.path}, and the same command goes on "
                "from there"
            )
            return int(ExitCode.INTERRUPTED)
    return _tell(report, plan, folder, record=not no_record, quiet=quiet, json=json)


def _planned(
    scenario: Path,
    vary: list[str],
    seeds: str,
    sets: list[str],
    allow_dirs: list[Path],
    plugins: list[Path],
    progress: Progress,
) -> Plan:
    """Return the plan of a scenario or of a sweep file, with what the command line adds."""
    from crowdsim.sweep.design import crossed, multiplied, seeds_of, varied_values
    from crowdsim.sweep.design_file import is_design_file, read_design
    from crowdsim.sweep.plan import Source, plan_sweep

    more = [crossed(varied_values(vary))] if vary else []
    wanted = seeds_of(seeds) if seeds else []
    name = ""
    if is_design_file(scenario):
        design = read_design(scenario)
        name, wanted = design.name, wanted or [*design.seeds]
        if not name.strip(".") or "/" in name:
            raise CrowdsimError(f'{scenario}: name: "{name}" cannot be the name of a folder.')
        more, sets, scenario = [*design.parts, *more], [*design.sets, *sets], design.scenario
    source = Source(scenario, tuple(sets), tuple(allow_dirs), tuple(plugins))
    return plan_sweep(
        source,
        multiplied(more),
        wanted,
        name=name,
        progress=lambda done, all_: progress.note(f"checking combination {done + 1:,} of {all_:,}"),
    )


def _pool(cluster: str, workers: int, scratch: Path | None, patience: float) -> Pool:
    """Return what does the runs."""
    if cluster:
        from crowdsim.sweep.cluster import Cluster

        return Cluster(cluster, patience=patience, scratch=scratch)
    from crowdsim.sweep.pools import LocalPool

    return LocalPool(workers, scratch)


def bytes_of(text: str) -> int:
    """Return the bytes of a size such as 500M or 2G; 0 for an empty text.

    Raises
    ------
    CrowdsimError
        If it is no size above 0.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if text and not 0 < size < 2**60:
        raise CrowdsimError(f"--memory {text}: must be a size above 0, for example 500M or 2G.")
    return size


def _progress_lines(report: Report) -> tuple[str, ...]:
    done = f"{report.asked - report.left:,} of {report.asked:,} runs"
    failed = f"  {len(report.failures):,} failed" if report.failures else ""
    rate = f"  {report.rate:.1f} a second" if report.rate >= 1.0 else f"  {60.0 * report.rate:.1f} a minute"
    left = f"  {clock_text(report.left / report.rate)} left" if report.rate > 0.0 else ""
    return f"{done}{failed}{rate if left else ''}{left}", f"{done}{failed}{left}", done


def _list_runs(plan: Plan, folder: Folder, workers: int, *, record: bool, retry: bool, json: bool) -> int:
    """Show what would run."""
    from crowdsim.sweep.plan import estimate
    from crowdsim.sweep.supervise import waiting

    todo, known = waiting(plan, folder, record=record, retry=retry)
    expected = estimate(todo, known, record=record)
    is_waiting = {run.id for run in todo}
    if json:
        runs = [
            {
                "run": run.number,
                "id": run.id,
                "values": run.values,
                "seed": run.seed,
                "would_run": run.id in is_waiting,
            }
            for run in plan.runs
        ]
        seconds = "seconds" if expected.measured_on else "seconds_at_most"
        says = {
            seconds: round(expected.seconds / workers, 1),
            "recordings_mb_at_most": round(expected.size_mb, 1),
        }
        say_json(
            {
                "ok": True,
                "folder": str(folder.path),
                "workers": workers,
                "would_run": len(todo),
                "known": len(known),
                **says,
                "runs": runs,
            }
        )
        return int(ExitCode.OK)
    keys = [key for key in plan.keys if key != "seed"]
    rows: list[tuple[Any, ...]] = [
        (
            run.number,
            run.id,
            *(run.point.get(key, "-") for key in keys),
            run.seed,
            "would run" if run.id in is_waiting else "is known",
        )
        for run in plan.runs[:MOST_LISTED]
    ]
    say(table(("run", "id", *keys, "seed", ""), rows, right=(0,)))
    if len(plan.runs) > MOST_LISTED:
        say(f"... and {len(plan.runs) - MOST_LISTED:,} more (--json lists all)")
    time_ = clock_text(expected.seconds / workers)
    basis = (
        f"about {time_}, from {expected.measured_on:,} finished runs"
        if expected.measured_on
        else f"at most some {time_}, if all agents stay until the end"
    )
    say(f"{len(todo):,} runs would be done and {len(known):,} are known in {folder.path}")
    if todo:
        say(
            f"{basis}, with {workers} at once"
            + (f"; recordings of at most some {expected.size_mb:,.0f} MB" if record else "")
        )
    return int(ExitCode.OK)


def _tell(report: Report, plan: Plan, folder: Folder, *, record: bool, quiet: bool, json: bool) -> int:
    """Print the results of a sweep; return the exit code."""
    from crowdsim.sweep.tables import varied

    code = ExitCode.RUNS_FAILED if report.failures else ExitCode.OK
    by_id = {run.id: run for run in plan.runs}
    shown = report.failures if json else report.failures[:MOST_FAILURES]
    failures = [
        {
            **{key: each[key] for key in ("id", "status", "error")},
            "command": plan.command(by_id[each["id"]], record=record),
        }
        for each in shown
    ]
    if json:
        counts = {
            "runs": len(plan.runs),
            "known": report.known,
            "finished": report.finished,
            "failed": report.failed,
            "seconds": round(report.seconds, 3),
        }
        say_json(
            {
                "ok": not report.failures,
                "folder": str(folder.path),
                "tables": [str(each) for each in report.tables],
                **counts,
                "means": without_nan(report.means.to_dict("records")),
                "failures": failures,
            }
        )
        return int(code)
    if not quiet:
        known = f", {report.known:,} known before" if report.known else ""
        say(
            f"{report.finished:,} runs finished in {clock_text(report.seconds)}{known}; table: "
            f"{report.tables[0]}"
        )
        if len(plan.runs) > 1:
            say(f"\n{means_text(report.means, varied(plan))}\n")
            say(f"means ± standard deviations over the runs of each combination; all: {report.tables[2]}")
    for each in failures:
        complain(f"{each['id']}: {each['status']}: {each['error']}\n    {each['command']}")
    if report.failures:
        more = len(report.failures) - len(failures)
        complain(
            f"{f'and {more:,} more; ' if more else ''}{len(report.failures):,} of {report.asked:,} runs "
            "failed; to do them again: --retry-failed"
        )
    return int(code)
