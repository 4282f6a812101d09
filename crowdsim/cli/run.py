"""``crowdsim run``: a scenario goes in, a recording and a verdict come out."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.figures import places_text
from crowdsim.cli.options import (
    RECORDINGS,
    AllowDir,
    CheckpointEvery,
    Plugins,
    Seed,
    SetValues,
    known_folders,
    load_plugins,
    new_output,
    seconds_between,
    with_seed,
)
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import complain, complain_of, note_what_is_left, say, say_json
from crowdsim.cli.verdict import verdict_text
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, ExitCode, RecordingError
from crowdsim.printable import without_nan

if TYPE_CHECKING:
    from crowdsim.recording.files import Kept
    from crowdsim.simulation.simulation import Simulation
    from crowdsim.simulation.verdict import Verdict

RUNS = Path("runs")  # where recordings are kept that nobody gave another place


def run(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (YAML).")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Recording to write; default runs/<name of the scenario>.h5."),
    ] = None,
    seed: Seed = None,
    set_: SetValues = None,
    allow_dir: AllowDir = None,
    plugin: Plugins = None,
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            "-j",
            min=0,
            help="Threads; 0 is one for each core. They change nothing but the time.",
        ),
    ] = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", min=0.0, help="Stop after so many seconds of wall time; what was recorded stays."
        ),
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace",
            help="Record digests per system and block of agents too, and all columns in full precision.",
        ),
    ] = False,
    checkpoint_every: CheckpointEvery = None,
    no_record: Annotated[bool, typer.Option("--no-record", help="Write no recording.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a finished recording of that name.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no table, only errors.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> int:
    """Run a scenario, record it, and print its results.

    Exit codes: 0 all agents with a goal arrived; 2 mistakes in the scenario; 3 an agent has not arrived; 4
    the recording could not be kept; 5 it is kept under another name, since a finished recording has the
    wanted one; 7 stopped by --time-limit; 130 by Ctrl-C or SIGTERM. After these two the recording is whole up
    to there, a checkpoint lies beside it, and crowdsim resume goes on.
    """
    given = {"--out": out, "--trace": trace, "--force": force, "--checkpoint-every": checkpoint_every}
    idle = [name for name, value in given.items() if value not in (None, False)]
    if no_record and idle:  # doing nothing of what was asked would be found out too late
        raise CrowdsimError(
            f"--no-record leaves nothing to do for {' and '.join(idle)}. Leave out one or the other."
        )
    if out is not None:
        new_output(out, RECORDINGS, "a recording")
    with contextlib.ExitStack() as room, Progress(enabled=not (quiet or json)) as progress:
        progress.note("loading")
        from crowdsim.scenario.load import load_scenario
        from crowdsim.setup.locked import locked_in
        from crowdsim.simulation.simulation import Simulation

        sets = with_seed(set_, seed) + (["record.trace=true"] if trace else [])
        load_plugins(plugin)
        loaded = load_scenario(scenario, sets=sets, allow_dirs=known_folders(allow_dir))
        progress.note("")
        complain_of(loaded.notes)
        had_folder = RUNS.exists()
        target = None if no_record else out or _default_output(loaded.name)
        if target is not None:
            note_cut_off(target)
        place = target
        if target is None and loaded.measures:  # which are measured in a recording
            place = Path(room.enter_context(TemporaryDirectory())) / "run.h5"
        progress.watch_first_run()
        try:
            with (
                stoppable() as heeding,
                Simulation(loaded, threads=threads, out=place, force=force) as simulation,
            ):
                complain_of(locked_in(simulation.built))
                progress.start(simulation)
                verdict = simulation.run(
                    progress=heeding(progress.show),
                    time_limit=time_limit,
                    checkpoint_every=seconds_between(checkpoint_every),
                )
        except CrowdsimError as error:
            note_what_is_left(error, [target])
            if not had_folder:
                with contextlib.suppress(OSError):
                    RUNS.rmdir()  # if nothing was recorded
            raise
        places = measured_places(simulation, progress)
    return report(verdict, places, simulation, target, quiet=quiet, json=json)


def measured_places(simulation: Simulation, progress: Progress) -> dict[str, Any]:
    """Return the figures of the lines and areas that the scenario names, measured in the recording;
    nothing where there are none.
    """
    if not simulation.scenario.measures or simulation.kept is None:
        return {}
    from crowdsim.measures.report import scenario_figures

    progress.note("measuring")
    figures = scenario_figures(simulation.kept.path)
    progress.note("")
    return figures


def report(
    verdict: Verdict,
    places: Mapping[str, Any],
    simulation: Simulation,
    target: Path | None,
    *,
    quiet: bool,
    json: bool,
) -> int:
    """Print the results of a run, what was measured, and where its recording is; return the exit code."""
    kept = simulation.kept if target is not None else None
    code = report_kept(
        {**verdict.as_dict(), **({"measures": without_nan(places)} if places else {})},
        kept,
        target,
        simulation.scenario.tick,
        code=verdict.exit_code,
        quiet=quiet,
        json=json,
        threads=simulation.team.threads,
    )
    if kept is not None and not (quiet or json):
        if simulation.scenario.budget.values.get("milliseconds"):
            again = command("verify", "--budget-from", kept.path)
            say(
                "milliseconds decided how far searches got: the next run will differ. To run this one "
                f"again: {again}"
            )
        if verdict.ended in ("time limit", "interrupted") and _has_checkpoint(simulation, kept.path):
            say(f"to go on: {command('resume', kept.path)}")
    return code


def _has_checkpoint(simulation: Simulation, recording: Path) -> bool:
    from crowdsim.recording.checkpoint import checkpoints_of

    recorder = simulation.recorder
    return recorder is not None and bool(checkpoints_of(recording, recorder.writer.header.run_id))


def report_kept(
    result: Mapping[str, Any],
    kept: Kept | None,
    target: Path | None,
    tick_s: float,
    *,
    code: ExitCode,
    quiet: bool,
    json: bool,
    threads: int | None = None,
) -> int:
    """Print the results of a run, as plain values, and where its recording is; return the exit code."""
    if kept is not None and kept.name_taken:
        complain(
            f"{target} is no recording that can be set aside (use --force to replace it): this run is kept "
            f"as {kept.path}"
        )
        code = ExitCode.NAME_TAKEN if code == ExitCode.OK else code
    path, older = (kept.path, kept.older) if kept else (None, None)
    if older is not None and not (quiet or json):
        complain(f"note: the run that had the name {target} is kept as {older}")
    if json:
        extra = {
            "recording": str(path) if path else None,
            "older_recording": str(older) if older else None,
            "threads": threads,
            "exit_code": int(code),
        }
        say_json({"ok": code == ExitCode.OK, **result, **extra})
    elif not quiet:
        say(verdict_text(result, tick_s, path))
        if "measures" in result:
            say("\n" + "\n\n".join(places_text(result["measures"])))
    return int(code)


def note_cut_off(target: Path) -> None:
    """Note what can be done with runs of a name that were cut off: they are not what is begun now."""
    from crowdsim.recording.files import partials_of
    from crowdsim.recording.leftovers import clear_left
    from crowdsim.simulation.going_on import runs_of

    if not partials_of(target):
        return
    clear_left(target.parent, target.name)
    for run in runs_of(target):
        if run.writer:
            complain(f"note: another run with this name is going on ({run.writer})")
        elif steps := run.steps(by_file=True):
            complain(
                f"note: another run with this name was cut off at {run.longest.until_s:g} s. {steps[0][1]} "
                f"{steps[0][0]}"
            )


def _default_output(name: str) -> Path:
    """Return the path of a recording in the folder ``runs``, which is made;
    a name with slashes stays one name.
    """
    try:
        RUNS.mkdir(exist_ok=True)
    except OSError as error:
        raise RecordingError(
            f"{RUNS}: the folder for recordings cannot be made ({error.strerror}). Choose another place "
            "with --out FILE."
        ) from None
    return RUNS / f"{name.replace('/', '_').lstrip('.') or 'run'}.h5"


Show = Callable[["Simulation"], None]


@contextlib.contextmanager
def stoppable() -> Iterator[Callable[[Show], Show]]:
    """Let SIGTERM end a run like Ctrl-C, with a whole recording and a checkpoint.

    Gives a function that makes of a progress function one that stops the run between two ticks, if it was
    asked to: half a tick is no state to go on from. The second signal stops it at once, as the first one does
    where no run is going on.
    """
    asked, goes_on = False, False

    def stop(*_: object) -> None:
        nonlocal asked
        is_first, asked = not asked, True
        if not (goes_on and is_first):
            raise KeyboardInterrupt

    def heeding(show: Show) -> Show:
        nonlocal goes_on
        goes_on = True

        def shown(simulation: Simulation) -> None:
            if asked:
                raise KeyboardInterrupt
            show(simulation)

        return shown

    # a shell's background job has no Ctrl-C
    heeded = [
        number for number in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, stop) for number in heeded}
    try:
        yield heeding
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
