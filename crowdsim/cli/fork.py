"""``crowdsim fork``: many continuations of one warm-up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.options import (
    RECORDINGS,
    CheckpointEvery,
    Plugins,
    SetValues,
    load_plugins,
    new_output,
    seconds_between,
)
from crowdsim.cli.progress import Progress
from crowdsim.cli.run import measured_places, note_cut_off, report, stoppable
from crowdsim.cli.shell import complain_of


def fork(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Recording to write; it begins with the checkpoint's tick.")
    ],
    set_: SetValues = None,
    plugin: Plugins = None,
    threads: Annotated[
        int, typer.Option("--threads", "-j", min=0, help="Threads; 0 is one for each core.")
    ] = 0,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.0, help="Stop after so many seconds of wall time.")
    ] = None,
    checkpoint_every: CheckpointEvery = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a finished recording of that name.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no table, only errors.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> int:
    """Go on from a checkpoint with other values, which count from then on.
    What the state is made of cannot change: agents, ground, goals, navigation.

    Exit codes: those of crowdsim run; 2 where a value cannot change on the way.
    """
    from crowdsim.avoidance.plugins import require_recorded
    from crowdsim.recording.checkpoint import read_checkpoint
    from crowdsim.scenario.load import parse_scenario
    from crowdsim.simulation.checkpoints import Start, require_same_shape
    from crowdsim.simulation.simulation import Simulation

    new_output(out, RECORDINGS, "a recording", source=checkpoint)
    every = seconds_between(checkpoint_every)
    note_cut_off(out)
    with Progress(enabled=not (quiet or json)) as progress:
        begun = read_checkpoint(checkpoint)
        load_plugins(plugin)
        complain_of(require_recorded(dict(begun.plugins), str(checkpoint)))
        before, scenario = (
            parse_scenario(begun.scenario, file=str(checkpoint)),
            parse_scenario(begun.scenario, file=str(checkpoint), sets=set_ or []),
        )
        start = Start(
            begun, str(checkpoint), are_models_new=require_same_shape(before, scenario, str(checkpoint))
        )
        progress.watch_first_run()
        with (
            stoppable() as heeding,
            Simulation(scenario, threads=threads, out=out, force=force, start=start) as simulation,
        ):
            progress.start(simulation)
            verdict = simulation.run(
                progress=heeding(progress.show), time_limit=time_limit, checkpoint_every=every
            )
        places = measured_places(simulation, progress)
    return report(verdict, places, simulation, out, quiet=quiet, json=json)
