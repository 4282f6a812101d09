"""``crowdsim bless``: a run becomes a golden recording, by which later versions are judged."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdsim.cli.options import Plugins, load_plugins
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import complain, tell
from crowdsim.cli.verify import require_recorded_plugins, require_replayable
from crowdsim.errors import CrowdsimError, DivergenceError, ExitCode, RecordingError

if TYPE_CHECKING:
    from crowdsim.recording.reader import Recording

FOLDER = Path("runs/golden")


def bless(
    run: Annotated[Path, typer.Argument(help="A recording of the run that is to be kept.")],
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", help="Keep all of so much simulated time, instead of the whole run."
        ),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(
            "--until", metavar="S", help="Also keep digests of later ticks until then; they take few bytes."
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Where golden recordings lie.")
    ] = FOLDER,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the file without its ending; without it that of the scenario."),
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", "-j", min=0, help="Threads; 0 is one for each core.")
    ] = 0,
    plugin: Plugins = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Replace a golden recording of that name; what changes is shown either way."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> int:
    """Run the scenario of a recording again, and keep a small traced recording of it:
    every column of every tick, digests per system and block of agents.

    The run has to be what it was, else there is nothing to bless. A golden recording that has the name
    already is compared with the new one, and is replaced only with --force.

    Exit codes: 0 kept, or unchanged; 4 the name is taken by another run, or the file would be too large; 6
    the run is no longer what was recorded.
    """
    from crowdsim.recording.locks import scratch_folder
    from crowdsim.recording.opening import open_run
    from crowdsim.regression.golden_recordings import keep_golden
    from crowdsim.regression.golden_runs import record_golden
    from crowdsim.scenario.load import parse_scenario

    for option, value in (("--seconds", seconds), ("--until", until)):
        if value is not None and not 0.0 < value < math.inf:
            raise CrowdsimError(f"{option} {value:g}: must be a time above 0 s.")
    with open_run(run) as recorded, scratch_folder() as scratch, Progress(enabled=not json) as progress:
        target = _target(folder, name or recorded.header.name, run)
        require_replayable(recorded)
        if recorded.commit.interventions:
            raise CrowdsimError(
                f"{run}: a program steered this run; golden runs are run from a scenario alone. Write what "
                "it does as events of the scenario, or keep the recording, which crowdsim verify runs again."
            )
        load_plugins(plugin)
        require_recorded_plugins(recorded)
        scenario = parse_scenario(recorded.header.scenario, file=str(run))
        progress.watch_first_run()
        made = scratch / "golden.h5"
        kept = recorded.commit.last_tick * recorded.header.tick_s if seconds is None else seconds
        ran = record_golden(
            scenario, made, seconds=kept, until=until, threads=threads, progress=progress.follow
        )
        _require_same(recorded, made)
        is_new, changed = keep_golden(made, target, force=force)
        if changed and not force:
            complain(f"{target}: another run has this name\n{changed}")
            raise RecordingError(
                f"{target}: is left as it was. Keep the new run under another name (--name), or replace the "
                "old one with --force."
            )
        size = made.stat().st_size
    facts = {
        "ok": True,
        "golden": str(target),
        "ticks": ran.ticks,
        "later_ticks": [*ran.later],
        "bytes": size,
        "is_new": is_new,
        "changed": changed or None,
    }
    further = f", digests until tick {max(ran.later):,}" if ran.later else ""
    words = (
        f"{target}: every column of {ran.ticks:,} ticks ({ran.ticks * scenario.tick:g} s){further}; "
        f"{size / 1e3:,.0f} kB"
    )
    changes = f"changed:\n{changed}\n" if changed else ""
    tell(facts, json, lambda: changes + words if is_new or changed else f"{target}: unchanged")
    return int(ExitCode.OK)


def _target(folder: Path, name: str, run: Path) -> Path:
    """Return the path of the golden recording, in a folder that exists then."""
    target = folder / f"{name.replace('/', '_').lstrip('.') or 'run'}.h5"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(
            f"{folder}: the folder for golden recordings cannot be made ({error.strerror}). Choose another "
            "with --folder."
        ) from None
    if target.exists() and run.exists() and target.samefile(run):
        raise CrowdsimError(
            f"{run}: is the golden recording itself. Bless a run that this version has made: crowdsim run."
        )
    return target


def _require_same(recorded: Recording, made: Path) -> None:
    """Refuse to bless another run than the one that was looked at."""
    from crowdsim.recording.compare import compare_digests
    from crowdsim.recording.opening import open_run

    with open_run(made) as fresh:
        found = compare_digests(recorded, fresh)
    if found is not None:
        raise DivergenceError(
            f"{recorded.path}: this version makes another run of it\n{found}\n"
            "There is nothing to bless: run the scenario again (crowdsim run), look at it, bless that."
        )
