"""``crowdsim verify``: the scenario in a recording is run again, and both are compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdsim.cli.options import Plugins, load_plugins
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import complain_of, tell
from crowdsim.cli.verdict import result_of
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, DivergenceError, ExitCode

if TYPE_CHECKING:
    from crowdsim.recording.compare_rows import Difference
    from crowdsim.recording.reader import Recording


def verify(
    run: Annotated[Path | None, typer.Argument(help="A recording; without it that of --budget-from.")] = None,
    budget_from: Annotated[
        Path | None,
        typer.Option(
            "--budget-from",
            metavar="RUN",
            help=(
                "Recording that says how far searches got in each tick, for runs with a budget in "
                "milliseconds."
            ),
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", "-j", min=0, help="Threads; 0 is one for each core.")
    ] = 0,
    plugin: Plugins = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing if they are identical.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> int:
    """Run the scenario that a recording holds again, with what a program did to it, and say whether both are
    identical bit for bit, or where they part.

    Where milliseconds decided how far searches got, a run is identical only with the budget that was
    recorded: crowdsim verify --budget-from run.h5.

    Exit code 0: identical; 6: different.
    """
    from crowdsim.recording.locks import scratch_folder
    from crowdsim.recording.opening import open_run
    from crowdsim.regression.golden_recordings import later_digests
    from crowdsim.regression.golden_runs import difference, other_versions, run_for
    from crowdsim.scenario.load import parse_scenario
    from crowdsim.simulation.replay import Replay

    if run is None and budget_from is None:
        raise CrowdsimError("give a recording: crowdsim verify run.h5.")
    run = run or budget_from
    assert run is not None
    with (
        open_run(run) as recorded,
        scratch_folder() as folder,
        Progress(enabled=not (quiet or json)) as progress,
    ):
        require_replayable(recorded)
        granted = _granted(run, recorded, budget_from)
        load_plugins(plugin)
        notes = require_recorded_plugins(recorded)
        scenario = parse_scenario(recorded.header.scenario, file=str(run))
        later = later_digests(recorded)
        again = folder / "again.h5"
        progress.watch_first_run()
        ticks = recorded.commit.last_tick
        ran = run_for(
            scenario,
            again,
            ticks,
            list(later),
            to_the_end=False,
            threads=threads,
            granted=granted,
            replays=Replay(recorded.interventions(), str(run)),
            progress=progress.follow,
        )
        with open_run(again) as fresh:
            found = difference(recorded, fresh, later, ran, progress.note)
        digest = f"{recorded.run_digest:016x}"
        reasons = [*_writing_systems(recorded, found), *other_versions(recorded), *notes] if found else []
    if found and not json:
        raise DivergenceError("\n".join([f"{run}: not identical", str(found), *reasons]))
    facts = {"ok": not found, "ticks": ticks, "digest": digest, "difference": str(found) if found else None}
    further = f", and in the digests of later ticks until {max(later):,}" if later else ""
    if json or not quiet:
        tell(facts, json, lambda: f"{run}: identical over {ticks:,} ticks, digest {digest}{further}")
    return int(ExitCode.DIFFERENT if found else ExitCode.OK)


def require_replayable(recorded: Recording) -> None:
    """Raise CrowdsimError if a run does not follow from its recording."""
    from crowdsim.recording.cut import require_uncut

    require_uncut(recorded.header, recorded.path, "run again")
    steered = result_of(recorded.verdict).get("steered", 0)
    if isinstance(steered, int) and steered and not recorded.layout.interventions:
        raise CrowdsimError(
            f"{recorded.path}: a program steered this run ({steered:,} times), and what it did was not "
            "recorded by the crowdsim of then. Run the program again: what it does is recorded now."
        )
    if recorded.header.first_tick:
        raise CrowdsimError(
            f"{recorded.path}: goes on from tick {recorded.header.first_tick:,} of another run and cannot "
            "be run again from its scenario alone. "
            "Verify that run, and fork its checkpoint once more: the digests are the same."
        )


def require_recorded_plugins(recorded: Recording) -> list[str]:
    """Have the plug-ins of a recording, or refuse; return, and say, what is to be noted about them."""
    from crowdsim.avoidance.plugins import require_recorded

    notes = [*require_recorded(dict(recorded.header.plugins), str(recorded.path))]
    complain_of(notes)
    return notes


def _writing_systems(recorded: Recording, found: Difference) -> list[str]:
    """Return what a recording without a trace leaves open: which system it was."""
    from crowdsim.systems import TICK_ORDER
    from crowdsim.world.registry import registered_systems

    writers = [
        kind.__name__ for kind in (*TICK_ORDER, *registered_systems().values()) if found.column in kind.writes
    ]
    if recorded.layout.trace or not writers:
        return []
    return [
        (
            f"{found.column} is written by {', '.join(writers)}; which of them it was, a run recorded with "
            "--trace says"
        )
    ]


def _granted(run: Path, recorded: Recording, budget_from: Path | None) -> dict[int, int] | None:
    """Return how much each tick grants, where milliseconds decided; None where work did."""
    from crowdsim.recording.cut import require_uncut
    from crowdsim.recording.opening import open_run
    from crowdsim.simulation.budget import recorded_grants

    if budget_from is None:
        if recorded.header.reproducible:
            return None
        raise CrowdsimError(
            f"{run}: milliseconds decided how far searches got, so a run by the clock would be another one. "
            "The recording says how far they got: "
            f"{command('verify', '--budget-from', run)}"
        )
    if recorded.header.reproducible:
        raise CrowdsimError(
            f"{run}: has a budget of work and is the same each time; verify it without --budget-from."
        )
    with open_run(budget_from) as source:
        require_uncut(source.header, budget_from, "taken for what each tick granted")
        granted = recorded_grants(source)
    last = max(granted, default=0)
    if last < recorded.commit.last_tick:
        raise CrowdsimError(
            f"{budget_from}: says how far searches got until tick {last:,}, but {run} goes on until tick "
            f"{recorded.commit.last_tick:,}."
        )
    return granted
