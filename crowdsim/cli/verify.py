"""``crowdsim verify``: the scenario in a recording is run again, and both are compared."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdsim.cli.options import Plugins, load_plugins
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import complain, say, say_json
from crowdsim.cli.verdict import result_of
from crowdsim.errors import CrowdsimError, DivergenceError, ExitCode

if TYPE_CHECKING:
    from crowdsim.recording.reader import Recording


def verify(
    run: Annotated[Path | None, typer.Argument(help="A recording; without it that of --budget-from.")] = None,
    budget_from: Annotated[
        Path | None,
        typer.Option("--budget-from", metavar="RUN", help="Recording that says how far searches got in each tick, for runs with a budget in milliseconds."),
    ] = None,
    threads: Annotated[int, typer.Option("--threads", "-j", min=0, help="Threads; 0 is one for each core.")] = 0,
    plugin: Plugins = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing if they are identical.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> int:
    """Run the scenario that a recording holds again, and say whether both are identical bit for bit, or where they part.

    Where milliseconds decided how far searches got, a run is identical only with the budget that was recorded: crowdsim verify --budget-from run.h5.

    Exit code 0: identical; 6: different.
    """
    from crowdsim.avoidance.plugins import require_recorded
    from crowdsim.recording.compare import first_difference
    from crowdsim.recording.reader import open_run
    from crowdsim.scenario.load import parse_scenario
    from crowdsim.schedule.simulation import Simulation

    if run is None and budget_from is None:
        raise CrowdsimError("give a recording: crowdsim verify run.h5.")
    run = run or budget_from
    assert run is not None
    with open_run(run) as recorded, tempfile.TemporaryDirectory(prefix="crowdsim-verify-") as folder, Progress(enabled=not (quiet or json)) as progress:
        steered = result_of(recorded.verdict).get("steered", 0)
        if isinstance(steered, int) and steered:
            raise CrowdsimError(f"{run}: a program steered this run ({steered:,} times): it does not follow from its scenario and cannot be run again from it.")
        if recorded.header.first_tick:
            raise CrowdsimError(
                f"{run}: goes on from tick {recorded.header.first_tick:,} of another run and cannot be run again from its scenario alone. "
                "Verify that run, and fork its checkpoint once more: the digests are the same."
            )
        granted = _granted(run, recorded, budget_from)
        load_plugins(plugin)
        notes = require_recorded(dict(recorded.header.plugins), str(run))
        for note in notes:
            complain(f"note: {note}")
        scenario = parse_scenario(recorded.header.scenario, file=str(run))
        again = Path(folder) / "again.h5"
        progress.watch_compiler()
        with Simulation(scenario, threads=threads, out=again, granted=granted) as simulation:
            progress.start(simulation)
            while simulation.tick < recorded.commit.last_tick:
                simulation.step()
                progress.show_now_and_then(simulation)
            simulation.finish("verified")
        with open_run(again) as fresh:
            found = first_difference(recorded, fresh)
        ticks, digest = recorded.commit.last_tick, f"{recorded.run_digest:016x}"
        versions = dict(recorded.header.versions)
    if json:
        say_json({"ok": found is None, "ticks": ticks, "digest": digest, "difference": str(found) if found else None})
        return int(ExitCode.OK if found is None else ExitCode.DIFFERENT)
    if found is not None:
        from crowdsim.recording.header import software_versions

        now = software_versions()
        changed = [f"{name} {versions[name]} then, {now.get(name)} now" for name in versions if versions[name] != now.get(name)]
        reasons = [*([f"versions differ: {'; '.join(changed)}"] if changed else []), *notes]
        raise DivergenceError("\n".join([f"{run}: not identical", str(found), *reasons]))
    if not quiet:
        say(f"{run}: identical over {ticks:,} ticks, digest {digest}")
    return int(ExitCode.OK)


def _granted(run: Path, recorded: Recording, budget_from: Path | None) -> dict[int, int] | None:
    """Return how much each tick grants, where milliseconds decided; None where work did."""
    from crowdsim.recording.reader import open_run
    from crowdsim.schedule.budget import recorded_grants

    if budget_from is None:
        if recorded.header.reproducible:
            return None
        raise CrowdsimError(
            f"{run}: milliseconds decided how far searches got, so a run by the clock would be another one. The recording says how far they got: "
            f"crowdsim verify --budget-from {run}"
        )
    if recorded.header.reproducible:
        raise CrowdsimError(f"{run}: has a budget of work and is the same each time; verify it without --budget-from.")
    with open_run(budget_from) as source:
        granted = recorded_grants(source)
    last = max(granted, default=0)
    if last < recorded.commit.last_tick:
        raise CrowdsimError(f"{budget_from}: says how far searches got until tick {last:,}, but {run} goes on until tick {recorded.commit.last_tick:,}.")
    return granted
