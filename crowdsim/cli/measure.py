"""``crowdsim measure``: what a run, the runs of a sweep, or measured people resulted in:
paths, exits, collisions, lines, areas.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.figures import (
    CHANGES,
    CHOICES,
    EXITS,
    PARTIES,
    QUEUES,
    RIDES,
    STATES,
    figure_text,
    means_text,
    places_text,
    table_of,
)
from crowdsim.cli.options import require_name
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import complain, table, tell
from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.printable import counted

if TYPE_CHECKING:
    import pandas as pd

    from crowdsim.measures.sources import LongRun
    from crowdsim.measures.tracks import Tracks

MOST_SHOWN = 20  # Goals in the table: where each agent has one of its own it would have a line for each.
LABELS = {  # of `summary`, as people read them
    "people": "people", "frames": "frames", "fps": "frames a second", "from_s": "from, s",
    "until_s": "until, s", "mean_length_m": "mean path, m", "mean_speed_m_s": "mean speed, m/s",
    "arrived": "arrived", "last_arrival_s": "last arrival, s", "mean_detour": "path over shortest path",
    "mean_time_over_ideal": "time over ideal time", "overlaps": "overlaps of two people",
    "overlap_s": "overlapping, pair-seconds", "deepest_overlap_m": "deepest overlap, m",
    "collisions_each": "collisions a person", "score_each": "SteerBench score a person",
    "score_2_each": "the same with accelerations",
}  # fmt: skip

# of a sweep, beside the lines and areas that are asked for; --csv and --json have all
SUMMARY_OF_SWEEPS = ("arrived", "last_arrival_s", "mean_speed_m_s", "mean_detour")


def measure(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A recording; the folder of a sweep; or measured people: text (.txt) or HDF5 of an archive.",
        ),
    ],
    line: Annotated[
        list[str] | None,
        typer.Option(
            "--line",
            metavar="X1,Y1,X2,Y2",
            help="A measurement line, or NAME=X1,...; or the name of an area of the scenario. Repeatable.",
        ),
    ] = None,
    area: Annotated[
        list[str] | None,
        typer.Option(
            "--area",
            metavar="XMIN,YMIN,XMAX,YMAX",
            help="A measurement area: a box, x and y of three corners or more, or a name. Repeatable.",
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FOLDER", help="Write one CSV file for each measure into this folder."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")] = False,
    deeper_than: Annotated[
        float,
        typer.Option("--deeper-than", min=0.0, metavar="M", help="Overlaps that are no deeper do not count."),
    ] = 1e-4,
    radius: Annotated[
        float | None,
        typer.Option("--radius", metavar="M", help="Of measured people, whose radius is not known."),
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option("--fps", help="Frames a second, where a file of measured people does not say."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="m, cm or mm, where a file of measured people does not say.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing CSV files.")] = False,
) -> None:
    """Show what a run resulted in: paths beside the shortest ones, exits, overlaps and collisions,
    crossings of lines, densities in areas.

    A line is crossed forwards to its right side, looking from its first point to its last; a named area is
    entered forwards. Of a sweep: means and deviations over the runs of each combination; --json and --csv
    have each run too.
    """
    if radius is not None and not (math.isfinite(radius) and radius > 0.0):
        raise CrowdsimError(f"--radius is {radius:g} m, but a person is wider than 0 m.")
    if not math.isfinite(deeper_than):
        raise CrowdsimError(
            f"--deeper-than is {deeper_than:g}, but takes a depth in metres, for example 0.001."
        )
    asked: dict[str, Any] = {"lines": line or (), "areas": area or (), "deeper_than_m": deeper_than}
    if require_name(run).is_dir():
        if not (radius is fps is unit is None):
            raise CrowdsimError(
                f"{run}: --radius, --fps and --unit are of measured people; the runs of a sweep say them "
                "themselves."
            )
        keys, runs, means = _of_sweep(run, json, asked)
        facts = {
            "folder": str(run),
            **{name: each.to_dict("records") for name, each in (("runs", runs), ("means", means))},
        }
        tables, text = {"runs": runs, "means": means}, lambda: _sweep_text(run, keys, means)
    else:
        with Progress(enabled=not json) as progress:
            progress.note(f"measuring {run}")
            with _read(run, fps, unit, progress.note) as read:
                facts, tables = _of_run(read, radius_m=radius, **asked)
        facts, text = {"file": str(run), **facts}, lambda: as_text(facts)
    if csv is not None:
        facts["files"] = _write(tables, csv, run, force=force)
    tell(facts, json, lambda: text() + _files_text(facts))


def _of_run(
    run: Tracks | LongRun,
    *,
    lines: Sequence[str],
    areas: Sequence[str],
    deeper_than_m: float,
    radius_m: float | None = None,
) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Return what a run resulted in as plain values, and as tables."""
    from crowdsim.measures.parties import parties_of_groups
    from crowdsim.measures.report import all_tables, place_figures, summary
    from crowdsim.measures.scenarios import area_from_text, line_from_text, measured_places
    from crowdsim.measures.sources import facts_of

    tracks = facts_of(run)
    all_lines, all_areas = measured_places(tracks)
    named = {each.name for each in all_lines}, {each.name for each in all_areas}
    all_lines += [line_from_text(text, tracks) for text in lines if text not in named[0]]
    all_areas += [area_from_text(text, tracks) for text in areas if text not in named[1]]
    tables = all_tables(
        run,
        lines=_distinct(all_lines, "line"),
        areas=_distinct(all_areas, "area"),
        deeper_than_m=deeper_than_m,
        radius_m=radius_m,
    )
    facts: dict[str, Any] = {"summary": _plain(summary(run, tables).to_dict())}
    facts["exits"] = [_plain(row) for row in tables["exits"].to_dict("records")] if "exits" in tables else []
    for name in ("states", "queues", "choice use", "changes", "connections"):
        facts[name] = [_plain(row) for row in tables[name].to_dict("records")] if name in tables else []
    of_groups = parties_of_groups(tables["parties"]).to_dict("records") if "parties" in tables else []
    facts["parties"] = [_plain(row) for row in of_groups]
    figures = place_figures(all_lines, all_areas, tables)
    return facts | {kind: [_plain(row) for row in rows] for kind, rows in figures.items()}, tables


def _of_sweep(path: Path, quiet: bool, asked: dict[str, Any]) -> tuple[list[str], pd.DataFrame, pd.DataFrame]:
    """Return the varied keys of a sweep, its finished runs with all figures, and their means."""
    import pandas as pd

    from crowdsim.measures.sources import run_of
    from crowdsim.sweep.folder import Folder
    from crowdsim.sweep.tables import kept_runs, means_of

    folder = Folder(path)
    keys, runs = kept_runs(folder)
    recorded = runs[runs["recording"] != ""].to_dict("records")
    if not recorded:
        raise CrowdsimError(
            f"{path}: none of its {counted(len(runs), 'run')} has a recording to measure. Run the sweep "
            "without --no-record."
        )
    if len(recorded) < len(runs):
        complain(f"note: {len(runs) - len(recorded):,} of {len(runs):,} runs have no recording")
    rows = []
    with Progress(enabled=not quiet) as progress:
        for number, row in enumerate(recorded, 1):
            progress.note(f"measuring {number:,} of {len(recorded):,} runs")
            with run_of(folder.path / row["recording"]) as run:
                facts, _ = _of_run(run, **asked)
            about = {name: row[name] for name in ("run", "id", *keys, "seed", "status")}
            rows.append({**about, **_flat(facts)})
    table_ = pd.DataFrame(rows)
    return keys, table_, means_of(table_, keys)


def _flat(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a run by one name each; those of exits, lines and areas have theirs in front."""
    from crowdsim.sweep.measures import flat_places

    return {**facts["summary"], **flat_places(facts)}


def _sweep_text(path: Path, keys: Sequence[str], means: pd.DataFrame) -> str:
    """Return the means of a sweep as a person reads them."""
    from crowdsim.sweep.tables import shown_measures

    return (
        f"{path}\n\n{means_text(means, keys, shown_measures(means, SUMMARY_OF_SWEEPS))}\n\nmeans ± standard "
        "deviations over the runs of a combination; --csv and --json have all measures"
    )


def as_text(facts: dict[str, Any]) -> str:
    """Return the facts as a person reads them."""
    counts = ("people", "frames", "arrived", "overlaps")
    rows = [
        (LABELS[name], figure_text(value, 0 if name in counts else 3))
        for name, value in facts["summary"].items()
    ]
    parts = [f"{facts['file']}\n\n" + table(("measure", "value"), rows, right=(1,))]
    if facts["exits"]:
        most_used = sorted(facts["exits"], key=lambda each: -each["people"])[:MOST_SHOWN]
        more = len(facts["exits"]) - len(most_used)
        shown = [each for each in facts["exits"] if each in most_used] if more else facts["exits"]
        parts.append(
            table_of({"goal": "reached", "kind": "kind"}, EXITS, shown)
            + (f"\n{more:,} more, less used: --csv or --json has them" if more else "")
        )
    if facts["states"]:
        parts.append(table_of({"machine": "machine", "state": "state"}, STATES, facts["states"]))
    if facts["queues"]:
        parts.append(table_of({"queue": "queue"}, QUEUES, facts["queues"]))
    if facts["parties"]:
        parts.append(table_of({"group": "group"}, PARTIES, facts["parties"]))
    if facts["choice use"]:
        names = {"group": "group", "goal": "chosen", "reason": "reason"}
        parts.append(table_of(names, CHOICES, facts["choice use"]))
        parts.append(table_of({"group": "group"}, CHANGES, facts["changes"]))
    if facts["connections"]:
        parts.append(table_of({"connection": "connection", "kind": "kind"}, RIDES, facts["connections"]))
    return "\n\n".join([*parts, *places_text(facts)])


def _files_text(facts: dict[str, Any]) -> str:
    if "files" not in facts:
        return ""
    names = [Path(name).name for name in facts["files"]]
    return f"\n\n{len(names)} files in {Path(facts['files'][0]).parent}: {', '.join(names)}"


def _read(
    path: Path, fps: float | None, unit: str | None, note: Callable[[str], None]
) -> AbstractContextManager[Tracks | LongRun]:
    from crowdsim.measures.measured import is_measured, read_measured
    from crowdsim.measures.sources import run_of

    if is_measured(require_name(path)):
        return run_of(read_measured(path, fps=fps, unit=unit))
    if fps is not None or unit is not None:
        raise CrowdsimError(f"{path}: --fps and --unit are of measured people; a recording says both itself.")
    return run_of(path, note=note)


def _distinct(items: list[Any], what: str) -> list[Any]:
    """Return lines or areas, if no two have one name."""
    names = [item.name for item in items]
    for name in names:
        if names.count(name) > 1:
            raise CrowdsimError(
                f'--{what} "{name}" is given twice. Give each a name of its own: '
                f"NAME={name.partition('=')[2] or name}."
            )
    return items


def _write(tables: dict[str, pd.DataFrame], folder: Path, run: Path, *, force: bool) -> list[str]:
    """Write a CSV file for each table; return their names."""
    from crowdsim.recording.files import new_file

    if folder.exists() and not folder.is_dir():
        raise CrowdsimError(
            f'"{folder}" is a file. --csv takes a folder, for example {run.with_suffix("")}-measures.'
        )
    files = {name: folder / (re.sub(r"[^\w.=-]+", "-", name).strip("-") + ".csv") for name in tables}
    if len(set(files.values())) < len(files):
        raise CrowdsimError(
            "Two lines or areas have names that make one file name. Give them names that differ in letters "
            "or digits: NAME=..."
        )
    there = [file.name for file in files.values() if file.exists()]
    if there and not force:
        raise CrowdsimError(
            f"{folder}: holds {', '.join(there[:3])}{' and more' if len(there) > 3 else ''} already. "
            "--force replaces them."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, file in files.items():
            with new_file(file, force=force) as scratch:
                tables[name].to_csv(scratch, index=False)
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be written ({error.strerror}).") from None
    return [str(file) for file in files.values()]


def _plain(values: dict[Any, Any]) -> dict[str, Any]:
    """Return values as JSON has them: what is no number is None, counts are whole."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        number = value.item() if hasattr(value, "item") else value
        if isinstance(number, float):
            number = (
                None
                if not math.isfinite(number)
                else int(number)
                if name in ("people", "frames", "arrived", "overlaps")
                else number
            )
        found[str(name)] = number
    return found
