"""``crowdsim compare``: two recordings, bit for bit, by places within a tolerance,
or by their results on the whole.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import table, tell
from crowdsim.errors import CrowdsimError, ExitCode

if TYPE_CHECKING:
    from crowdsim.recording.compare_rows import Note
    from crowdsim.recording.reader import Recording


def compare(
    one: Annotated[Path, typer.Argument(help="A recording.")],
    other: Annotated[Path, typer.Argument(help="Another one.")],
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance", min=0.0, metavar="M", help="Compare places: equal if nobody is farther apart."
        ),
    ] = None,
    aggregates: Annotated[
        float | None,
        typer.Option(
            "--aggregates",
            min=0.0,
            metavar="SHARE",
            help="Compare arrivals, speeds, distances: equal within a share, as 0.05.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> int:
    """Say whether two recordings are the same, or where they part.

    Without options bit for bit, clock readings apart. Crowds are chaotic: with --tolerance runs on other
    versions or machines agree for some seconds, and after that only --aggregates says whether their results
    are still the same.

    Exit code 0: the same; 6: different.
    """
    from crowdsim.recording.opening import open_run

    if tolerance is not None and aggregates is not None:
        raise CrowdsimError("--tolerance and --aggregates answer different questions. Ask one at a time.")
    with open_run(one) as first, open_run(other) as second, Progress(enabled=not json) as progress:
        if aggregates is not None:
            outcome = _on_the_whole(first, second, aggregates, progress.note)
        elif tolerance is not None:
            outcome = _by_places(first, second, tolerance, progress.note)
        else:
            outcome = _bit_for_bit(first, second, progress.note)
    text = outcome.pop("text")
    tell(outcome, json, lambda: f"{one} and {other}: {text}")
    return int(ExitCode.OK if outcome["ok"] else ExitCode.DIFFERENT)


def _bit_for_bit(one: Recording, other: Recording, note: Note) -> dict[str, Any]:
    from crowdsim.recording.compare import first_difference

    found, ticks = (
        first_difference(one, other, (str(one.path), str(other.path)), scenarios=True, note=note),
        min(one.commit.last_tick, other.commit.last_tick),
    )
    text = f"identical over {ticks:,} ticks, {_proof(one, other)}" if found is None else f"different\n{found}"
    return {
        "ok": found is None,
        "ticks": ticks,
        "difference": None if found is None else str(found),
        "text": text,
    }


def _proof(one: Recording, other: Recording) -> str:
    if one.header.cut or other.header.cut:
        return "in all that was kept of both"
    return f"digest {one.run_digest:016x}"


def _by_places(one: Recording, other: Recording, tolerance: float, note: Note) -> dict[str, Any]:
    from crowdsim.recording.compare import compare_places

    found = compare_places(one, other, tolerance, note)
    until, apart = f"{found.ticks * one.header.tick_s:g} s", found.apart
    if apart is None:
        text = f"nobody is farther than {tolerance:g} m apart until {until}; at most {found.deepest:.3g} m"
    elif math.isinf(apart.distance):
        text = f"different\ntick {apart.tick}: agent {apart.entity} is in one of them only"
    else:
        places = [f"({', '.join(f'{value:.6g}' for value in place)})" for place in apart.places]
        text = (
            f"different\ntick {apart.tick} ({until}): agent {apart.entity} is {apart.distance:.3g} m apart, "
            f"at {places[0]} and {places[1]}; "
            f"before, nobody was more than {found.deepest:.3g} m"
        )
    difference = (
        None if apart is None else {"tick": apart.tick, "agent": apart.entity, "distance_m": apart.distance}
    )
    return {
        "ok": apart is None,
        "ticks": found.ticks,
        "deepest_m": found.deepest,
        "difference": difference,
        "text": text,
    }


def _on_the_whole(one: Recording, other: Recording, share: float, note: Note) -> dict[str, Any]:
    from crowdsim.recording.compare import COUNTS, aggregates

    values = [aggregates(recording, note) for recording in (one, other)]
    rows, apart = [], []
    for name in values[0]:
        a, b = values[0][name], values[1][name]
        by = _apart_by(a, b, values[0]["agents"] if name in COUNTS else max(abs(a), abs(b)))
        if by > share:
            apart.append(name)
        rows.append([name, f"{a:.6g}", f"{b:.6g}", f"{100 * by:.2f} %"])
    verdict = (
        f"more than {100 * share:g} % apart in {', '.join(apart)}"
        if apart
        else f"within {100 * share:g} % of each other"
    )
    text = f"{verdict}\n\n{table(['measure', 'first', 'second', 'apart'], rows, right=(1, 2, 3))}"
    return {"ok": not apart, "first": values[0], "second": values[1], "apart": apart, "text": text}


def _apart_by(a: float, b: float, whole: float) -> float:
    """Return how far two numbers are apart as a share of a whole;
    numbers that are in one recording only are infinitely far.
    """
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return math.inf if math.isnan(a + b) else abs(a - b) / whole if whole else math.inf
