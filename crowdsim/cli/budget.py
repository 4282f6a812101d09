"""``crowdsim budget``: where the time of a run's ticks went, and what its budget left open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.options import PICTURES, Force, new_output
from crowdsim.cli.shell import table, tell
from crowdsim.errors import CrowdsimError
from crowdsim.printable import counted

if TYPE_CHECKING:
    from crowdsim.recording.reader import Recording


def budget(
    run: Annotated[Path, typer.Argument(help="A recording.")],
    milliseconds: Annotated[
        float | None,
        typer.Option(
            "--milliseconds", min=0.0, help="Budget of a tick to hold the run to; default: its own."
        ),
    ] = None,
    worst: Annotated[
        int, typer.Option("--worst", min=0, help="How many of the longest ticks are listed.")
    ] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")] = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Also draw it: png, svg or pdf, as the name ends.")
    ] = None,
    force: Force = False,
) -> None:
    """Show what each system cost, the longest ticks with the system to blame, ticks over the budget,
    and how long requests for paths waited.
    """
    from crowdsim.recording.opening import open_run

    if picture is not None:
        new_output(picture, PICTURES, "a picture", source=run, force=force)
    with open_run(run) as recording:
        facts = describe(recording, milliseconds, worst)
        if picture is not None:
            from crowdsim.pictures.budget import draw_budget
            from crowdsim.recording.files import new_file

            with new_file(picture, force=force) as scratch:
                draw_budget(recording, scratch, facts["milliseconds"])
    tell(facts, json, lambda: as_text(str(run), facts))


def describe(recording: Recording, milliseconds: float | None, worst: int) -> dict[str, Any]:
    """Return everything that `budget` shows, as plain values.

    Parameters
    ----------
    recording : Recording
    milliseconds : float, ms, or None
    worst : int

    Raises
    ------
    CrowdsimError
        If it holds no tick, or not what its ticks took.
    """
    from crowdsim.measures.budget import frame_times, system_costs

    timings, ticks = recording.timings(), recording.ticks()
    if not len(timings):
        raise CrowdsimError(f"{recording.path}: holds no tick, so there is no time to account for.")
    if not recording.layout.systems:
        raise CrowdsimError(
            f"{recording.path}: holds {counted(len(ticks), 'tick')}, but not what the systems took in them, "
            "so there is no time to account for."
        )
    own = recording.header.parameters.get("budget.milliseconds")
    limit = (
        milliseconds if milliseconds is not None else float(own) if isinstance(own, (int, float)) else None
    )
    frames = frame_times(timings, limit)
    longest = frames.nlargest(worst, "total_ms")
    over = frames[frames["is_over"]]
    tick_s = recording.header.tick_s
    return {
        "ticks": len(frames),
        "milliseconds": limit,
        "systems": system_costs(timings).to_dict("records"),
        "worst": longest[["tick", "total_ms", "culprit"]].to_dict("records"),
        "ticks_over": len(over),
        "over_by_culprit": {str(name): int(count) for name, count in over["culprit"].value_counts().items()},
        "expansions": int(ticks["expansions"].sum()),
        "most_requests_open": int(ticks["requests_open"].max()),
        "longest_wait_s": round(float(ticks["oldest_request_ticks"].max()) * tick_s, 9),
    }


def as_text(name: str, facts: dict[str, Any]) -> str:
    """Return the facts as a person reads them."""
    limit = (
        f"a budget of {facts['milliseconds']:g} ms"
        if facts["milliseconds"] is not None
        else "no budget of milliseconds"
    )
    numbers = ("p50_ms", "p95_ms", "p99_ms", "worst_ms")
    rows = [
        (
            "whole tick" if row["system"] == "tick_total" else row["system"],
            *(f"{row[key]:.3f}" for key in numbers),
            row["worst_tick"],
            f"{row['share']:.1%}",
        )
        for row in facts["systems"]
    ]
    text = f"{name}: {facts['ticks']:,} ticks, {limit}\n\n"
    text += table(
        ("system", "p50 ms", "p95 ms", "p99 ms", "worst ms", "at tick", "share"),
        rows,
        right=(1, 2, 3, 4, 5, 6),
    )
    longest = [(row["tick"], f"{row['total_ms']:.3f}", row["culprit"]) for row in facts["worst"]]
    text += (
        "\n\n" + table(("longest tick", "ms", "farthest above its median"), longest, right=(0, 1))
        if longest
        else ""
    )
    if facts["milliseconds"] is not None:
        blame = ", ".join(f"{system} {count:,}" for system, count in facts["over_by_culprit"].items())
        text += f"\n\nover the budget: {facts['ticks_over']:,} of {facts['ticks']:,} ticks" + (
            f" ({blame})" if blame else ""
        )
    waits = (
        f"at most {facts['most_requests_open']:,} requests open, longest wait {facts['longest_wait_s']:g} s"
    )
    return text + f"\n\nsearches: {facts['expansions']:,} expansions, {waits}"
