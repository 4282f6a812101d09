"""``crowdsim resume``: a run that was stopped goes on from its last checkpoint, as if there had been no stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdsim.cli.options import CheckpointEvery, Plugins, load_plugins, seconds_between
from crowdsim.cli.paths import new_output, require_name
from crowdsim.cli.progress import Progress
from crowdsim.cli.run import RECORDING_SUFFIXES, report, stoppable
from crowdsim.cli.shell import complain
from crowdsim.errors import CrowdsimError, RecordingError

if TYPE_CHECKING:
    from crowdsim.recording.checkpoint import Checkpoint
    from crowdsim.recording.reader import Recording


def resume(
    run: Annotated[Path, typer.Argument(help="The recording of a run that was stopped; the name that it was to have, if it was killed.")],
    at: Annotated[float | None, typer.Option("--at", metavar="SECONDS", help="Go on from the last checkpoint at or before this simulated time.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Recording to write; without it the stopped one is replaced when the run has ended.")] = None,
    plugin: Plugins = None,
    threads: Annotated[int, typer.Option("--threads", "-j", min=0, help="Threads; 0 is one for each core.")] = 0,
    time_limit: Annotated[float | None, typer.Option("--time-limit", min=0.0, help="Stop after so many seconds of wall time.")] = None,
    checkpoint_every: CheckpointEvery = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a finished recording of the name of --out.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table, only errors.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> int:
    """Go on with a run from its last checkpoint. What was recorded later is cut off and computed again: the same rows, and the same digest.

    Exit codes: those of crowdsim run; 4 where there is no checkpoint to go on from.
    """
    from crowdsim.avoidance.plugins import require_recorded
    from crowdsim.recording.files import PARTIAL_SUFFIX, partials_of, writers_of
    from crowdsim.recording.reader import open_run
    from crowdsim.recording.schema import RunState
    from crowdsim.scenario.load import parse_scenario
    from crowdsim.schedule.checkpoints import Start
    from crowdsim.schedule.simulation import Simulation

    require_name(run)
    every = seconds_between(checkpoint_every)
    if out is not None:
        new_output(out, RECORDING_SUFFIXES, "a recording", source=run)
    elif run.name.endswith(PARTIAL_SUFFIX):
        raise CrowdsimError(f"{run}: is the hidden file of a run that was cut off. Give the name that the run was to have, or say with --out where to record.")
    left = partials_of(run)
    source = run if run.exists() or not left else left[-1]
    if writers := writers_of(source) if source.exists() else []:
        raise CrowdsimError(f"{run}: this run is still going on (process {writers[0]}). Stop it first, or wait for its end.")
    with Progress(enabled=not (quiet or json)) as progress, open_run(source) as recorded:
        if recorded.state is RunState.FINISHED and at is None:
            raise CrowdsimError(f"{run}: this run came to its end; there is nothing left of it. To go back to a checkpoint, say which: --at SECONDS.")
        where, checkpoint = _last_checkpoint(recorded, run, at)
        load_plugins(plugin)
        for note in require_recorded(dict(recorded.header.plugins), str(run)):
            complain(f"note: {note}")
        scenario = parse_scenario(recorded.header.scenario, file=str(source))
        progress.watch_compiler()
        target = out or run
        start = Start(checkpoint, str(where), recorded)
        with stoppable() as asked, Simulation(scenario, threads=threads, out=target, force=force or target == source, start=start) as simulation:
            progress.start(simulation)
            verdict = simulation.run(progress=asked.before(progress.show), time_limit=time_limit, checkpoint_every=every)
    if source != run and out is None:
        source.unlink(missing_ok=True)  # nobody wrote to it, and all of it that counts is in the new recording
    return report(verdict, simulation, target, quiet=quiet, json=json)


def _last_checkpoint(recorded: Recording, run: Path, at: float | None) -> tuple[Path, Checkpoint]:
    """Return the newest checkpoint of a run that its recording reaches, and that is not after the wanted time."""
    from crowdsim.recording.checkpoint import checkpoints_of, read_checkpoint

    found: list[tuple[Path, Checkpoint]] = []
    damaged: list[str] = []
    for path in checkpoints_of(run, recorded.header.run_id):
        try:
            found.append((path, read_checkpoint(path)))
        except RecordingError as error:
            damaged.append(str(error))
    reached = [pair for pair in found if pair[1].tick <= recorded.commit.last_tick and (at is None or pair[1].time_s <= at + 1e-9)]
    if reached:
        for text in damaged:
            complain(f"note: {text}")
        return max(reached, key=lambda pair: pair[1].tick)
    times = ", ".join(f"{checkpoint.time_s:g} s" for _, checkpoint in sorted(found, key=lambda pair: pair[1].tick))
    if found:
        end = recorded.commit.last_tick * recorded.header.tick_s
        wanted = f"{at:g} s" if at is not None else f"{end:g} s, where its recording ends"
        raise RecordingError(f"{run}: has no checkpoint at or before {wanted}; those that there are stand at {times}.")
    if damaged:
        raise RecordingError("\n".join(damaged))
    raise RecordingError(
        f"{run}: there is no checkpoint of this run beside it. Runs keep two with --checkpoint-every 10s, and one when --time-limit stops them."
    )
