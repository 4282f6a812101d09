"""``crowdsim resume``: a run that was stopped goes on from its last checkpoint,
as if there had been no stop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdsim.cli.options import (
    RECORDINGS,
    CheckpointEvery,
    Plugins,
    load_plugins,
    new_output,
    require_name,
    seconds_between,
)
from crowdsim.cli.progress import Progress
from crowdsim.cli.run import measured_places, report, report_kept, stoppable
from crowdsim.cli.shell import complain, complain_of, note_steps, say
from crowdsim.cli.verdict import is_verdict, result_of
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, ExitCode, RecordingError

if TYPE_CHECKING:
    from crowdsim.recording.checkpoint import Checkpoint
    from crowdsim.simulation.going_on import Stopped


def resume(
    run: Annotated[
        Path,
        typer.Argument(
            help=(
                "The recording of a run that was stopped; the name that it was to have, or its hidden file, "
                "if it was killed."
            )
        ),
    ],
    at: Annotated[
        float | None,
        typer.Option(
            "--at",
            metavar="SECONDS",
            help="Go on from the last checkpoint at or before this simulated time; 0 needs none.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Recording to write; without it the stopped one is replaced when the run has ended.",
        ),
    ] = None,
    plugin: Plugins = None,
    threads: Annotated[
        int, typer.Option("--threads", "-j", min=0, help="Threads; 0 is one for each core.")
    ] = 0,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.0, help="Stop after so many seconds of wall time.")
    ] = None,
    checkpoint_every: CheckpointEvery = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a finished recording of the name of --out.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no table, only errors.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> int:
    """Go on with a run from its last checkpoint.
    What was recorded later is cut off and computed again: the same rows, and the same digest. What a program
    did to the run is done again.

    A run that came to its end, but was killed before its recording had its name, is given it. --at 0 runs the
    scenario of the recording again from the beginning.

    Exit codes: those of crowdsim run; 4 where there is no checkpoint to go on from.
    """
    from crowdsim.avoidance.plugins import require_recorded
    from crowdsim.recording.leftovers import clear_left, look_at
    from crowdsim.recording.opening import open_run
    from crowdsim.scenario.load import parse_scenario
    from crowdsim.simulation.checkpoints import Start
    from crowdsim.simulation.replay import Replay
    from crowdsim.simulation.simulation import Simulation

    require_name(run)
    every = seconds_between(checkpoint_every)
    if out is not None:
        new_output(out, RECORDINGS, "a recording", source=run)
    clear_left(run.parent, keep=run)
    stopped = _chosen(run)
    if stopped.writer:
        raise CrowdsimError(
            f"{run}: this run is still going on ({stopped.writer}). Stop it first, or wait for its end."
        )
    if at is None and stopped.unnamed is not None:
        return _give_name(stopped, out or stopped.out, force=force, quiet=quiet, json=json)
    stopped, found = stopped.read_last(at)
    complain_of(stopped.damaged if found is not None else ())
    _require_start(stopped, found, run, at)
    target, source = out or stopped.out, stopped.longest.path
    with Progress(enabled=not (quiet or json)) as progress, open_run(source) as recorded:
        load_plugins(plugin)
        complain_of(require_recorded(dict(recorded.header.plugins), str(run)))
        scenario = parse_scenario(recorded.header.scenario, file=str(source))
        progress.watch_first_run()
        start = Start(found[1], str(found[0]), recorded) if found is not None else None
        with _telling_steps(stopped, found), stoppable() as heeding:
            replaces = target == stopped.out
            with Simulation(
                scenario,
                threads=threads,
                out=target,
                force=force and out is not None,
                goes_on=replaces,
                replays=Replay(recorded.interventions(), str(source)) if start is None else None,
                start=start,
            ) as simulation:
                progress.start(simulation)
                verdict = simulation.run(
                    progress=heeding(progress.show), time_limit=time_limit, checkpoint_every=every
                )
        places = measured_places(simulation, progress)
    kept = simulation.kept
    if kept is not None and (there := look_at(kept.path)).last_tick > verdict.ticks:
        complain(
            f"note: {kept.path} reached {there.until_s:g} s before, which is farther, and stays as it is"
        )
    return report(verdict, places, simulation, target, quiet=quiet, json=json)


@contextlib.contextmanager
def _telling_steps(stopped: Stopped, found: tuple[Path, Checkpoint] | None) -> Iterator[None]:
    """Note on an error what else can be done with the run than what has just failed."""
    try:
        yield
    except RecordingError as error:
        note_steps(
            error,
            [step for step in stopped.steps() if "--at 0" in step[1] or "recover" in step[1]]
            if found is not None
            else [],
        )
        raise


def _chosen(run: Path) -> Stopped:
    """Return the run that is to go on."""
    from crowdsim.recording.cut import require_uncut
    from crowdsim.simulation.going_on import runs_of

    runs = runs_of(run)
    found = next((each for each in runs if each.is_meant), runs[0] if runs else None)
    if found is None:
        raise RecordingError(
            f"{run}: there is no such file, and nothing of a run with this name is left here."
        )
    if found.longest.commit is None:
        raise RecordingError(found.longest.problem)
    if found.longest.header is not None:
        require_uncut(found.longest.header, found.longest.path, "gone on with")
    others = [each for each in runs if each is not found and each.longest.path != run and each.steps()]
    for each in others:
        complain(
            f"note: another run with this name was cut off at {each.longest.until_s:g} s: "
            f"{each.steps()[0][1]}"
        )
    return found


def _require_start(
    stopped: Stopped, last: tuple[Path, Checkpoint] | None, run: Path, at: float | None
) -> None:
    """Refuse a run that came to its end, and one without a checkpoint that is not to begin anew.

    Raises
    ------
    CrowdsimError
        It names what can be done.
    """
    from crowdsim.cli.verify import require_replayable
    from crowdsim.recording.opening import open_run
    from crowdsim.recording.schema import RunState

    longest = stopped.longest
    if at is None and longest.state is RunState.FINISHED:
        raise CrowdsimError(
            f"{run}: this run came to its end; there is nothing left of it. To go back to a checkpoint, say "
            "which: --at SECONDS."
        )
    if last is not None:
        _require_same_end(stopped, last[1])
        return
    if at == 0.0:
        with open_run(longest.path) as recorded:
            require_replayable(recorded)
        return
    steps = "".join(f"\n    {what}: {how}" for what, how in stopped.steps())
    if stopped.checkpoints:
        times = ", ".join(f"{checkpoint.time_s:g} s" for _, checkpoint in stopped.checkpoints)
        wanted = f"{at:g} s" if at is not None else f"{longest.until_s:g} s, where its recording ends"
        raise RecordingError(
            f"{run}: has no checkpoint at or before {wanted}; those that there are stand at {times}.{steps}"
        )
    if stopped.damaged:
        raise RecordingError("\n".join(stopped.damaged) + steps)
    raise RecordingError(
        f"{run}: there is no checkpoint of this run beside it. Runs keep two with --checkpoint-every 10s, "
        f"and one when --time-limit stops them.{steps}"
    )


def _require_same_end(stopped: Stopped, checkpoint: Checkpoint) -> None:
    """Refuse to replace what would be computed otherwise:
    a run by the clock does not give the same results a second time.
    """
    from crowdsim.recording.files import out_of

    longest = stopped.longest
    # a hidden file stays if it has anything of its own
    if longest.header is None or longest.last_tick <= checkpoint.tick or out_of(longest.path) is not None:
        return
    if not longest.header.reproducible:
        raise CrowdsimError(
            f"{longest.path}: what was recorded after the checkpoint at {checkpoint.time_s:g} s would come "
            "out otherwise, since milliseconds decided how far searches got, and be lost. "
            "Go on in another recording: "
            f"{command('resume', longest.path, '--out', longest.path.with_name(f'{longest.path.stem}-2.h5'))}"
        )


def _give_name(stopped: Stopped, target: Path, *, force: bool, quiet: bool, json: bool) -> int:
    """Do what a killed run had left to do: close its file and give it its name."""
    from crowdsim.recording.leftovers import clear_left
    from crowdsim.recording.recover import complete

    found = stopped.unnamed
    assert found is not None
    kept, verdict = complete(found.path, target, force=force)
    clear_left(stopped.out.parent, stopped.out.name)
    result = result_of(verdict)
    if not is_verdict(result):
        say(f"{kept.path}: whole")
        return int(ExitCode.OK)
    code = ExitCode.NOT_ARRIVED if result["not_arrived"] else ExitCode.OK
    return report_kept(
        result,
        kept,
        target,
        found.header.tick_s if found.header is not None else 1.0,
        code=code,
        quiet=quiet,
        json=json,
    )
