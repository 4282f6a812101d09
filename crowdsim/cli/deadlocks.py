"""``crowdsim deadlocks``: which agents were stuck in a recorded run, since when, where, what they waited for,
and why.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.options import PICTURES, Force, new_output
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import table, tell
from crowdsim.errors import CrowdsimError, ExitCode
from crowdsim.printable import counted, without_nan

if TYPE_CHECKING:
    import pandas as pd

    from crowdsim.measures.deadlock_recorded import Recorded

MEANINGS = {
    "progress": "less than 0.2 m of progress in 10 s",
    "displacement": "less than 0.2 m from where they were 10 s before",
}
MOST_NAMED = 3  # Heads of a deadlock that the table names; --json has all.


def deadlocks(
    run: Annotated[Path, typer.Argument(help="A recording.")],
    at: Annotated[
        float | None,
        typer.Option(
            "--at",
            min=0.0,
            help="Time of the list of people and of the picture, s; default: when most were stuck.",
        ),
    ] = None,
    all_groups: Annotated[
        bool,
        typer.Option(
            "--all", help="List all agents that are stuck at that time, and groups that were no deadlock."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", help="Also draw the place with the waiting graph: png, svg or pdf, as the name ends."
        ),
    ] = None,
    force: Force = False,
) -> int:
    """Show which agents were stuck, since when, where, what they waited for, and why.

    Exit codes: 0 no agent was deadlocked; 3 an agent was stuck for 30 s, not in a queue that gets on; 4 the
    recording cannot be read.
    """
    from crowdsim.measures.deadlock_recorded import Recorded
    from crowdsim.recording.opening import open_run

    if picture is not None:
        new_output(picture, PICTURES, "a picture", source=run, force=force)
    with open_run(run) as recording, Progress(enabled=not json) as progress:
        recorded = Recorded(recording)
        facts = describe(recorded, at, progress.note)
        if picture is not None:
            from crowdsim.pictures.deadlocks import draw_deadlocks
            from crowdsim.recording.files import new_file

            with new_file(picture, force=force) as scratch:
                draw_deadlocks(recorded, scratch, facts["at_s"])
    tell(facts, json, lambda: as_text(str(run), facts, all_groups=all_groups))
    return int(
        ExitCode.NOT_ARRIVED if any(found["is_deadlock"] for found in facts["groups"]) else ExitCode.OK
    )


def describe(
    recorded: Recorded, at: float | None, note: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Return everything that `deadlocks` shows, as plain values.

    Parameters
    ----------
    recorded : Recorded
    at : float, s, or None
        Time of the list of people; None is when most were stuck.
    note : callable
        Gets what goes on, as words.

    Raises
    ------
    CrowdsimError
        If the time is after the end, or columns that a diagnosis needs were not recorded.
    """
    from crowdsim.measures.deadlock import groups_of, name_of, stuck_people, waiting_graph, why_stuck

    end = round(recorded.recording.commit.last_tick * recorded.tick_s, 9)
    if at is not None and at > end:
        raise CrowdsimError(f"{recorded.recording.path}: ends at {end:g} s, before {at:g} s.")
    people = stuck_people(recorded, note)
    groups = groups_of(people)
    moment_s = at if at is not None else worst_moment(recorded)
    now, edges = why_stuck(recorded, moment_s), waiting_graph(recorded, moment_s)
    return {
        "run_s": end,
        "stuck_by": "progress" if recorded.recording.header.stuck_by == "progress" else "displacement",
        "agents": len(recorded.roster),
        "stuck_ever": int(people["entity"].nunique()),
        "deadlocked_ever": int(people.loc[people["is_deadlock"], "entity"].nunique()),
        "groups": [
            {
                **row,
                "heads": [name_of(recorded, each) for each in row["heads"]],
                "agents": [name_of(recorded, each) for each in row["entities"]],
            }
            for row in _plain(groups)
        ],
        "at_s": round(moment_s, 9),
        "people": [
            {
                **row,
                "waits_for_name": name_of(recorded, row["waits_for"]),
                "head_name": name_of(recorded, row["head"]),
            }
            for row in _plain(now)
        ],
        "waits": [
            {
                "agent": row["agent"],
                "other": name_of(recorded, row["other"]),
                "kind": row["kind"],
                "gap_m": row["gap_m"],
            }
            for row in _plain(edges)
        ],
        "spells": _plain(people.drop(columns=["heads"])),
    }


def worst_moment(recorded: Recorded) -> float:
    """Return when most agents were stuck of those stuck for long, s;
    of equal moments the last, and the end of the run if none was stuck.
    """
    import numpy as np

    spells, last = recorded.spells, recorded.recording.commit.last_tick
    ticks = recorded.frame_ticks
    if not len(spells):
        return last * recorded.tick_s
    begin, end = spells["begin_tick"].to_numpy(), np.minimum(spells["end_tick"].to_numpy(), last + 1)
    long = (end - begin) * recorded.tick_s >= 30.0
    chosen = long if long.any() else np.ones(len(spells), dtype=bool)
    count = np.searchsorted(np.sort(begin[chosen]), ticks, side="right") - np.searchsorted(
        np.sort(end[chosen]), ticks, side="right"
    )
    return float(ticks[len(count) - 1 - int(np.argmax(count[::-1]))] * recorded.tick_s)


def _plain(data: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return rows as plain values; what is not a number is None."""
    return list(without_nan(data.to_dict("records")))


def as_text(name: str, facts: dict[str, Any], *, all_groups: bool) -> str:
    """Return the facts as a person reads them."""
    deadlocked = [each for each in facts["groups"] if each["is_deadlock"]]
    others = len(facts["groups"]) - len(deadlocked)
    text = (
        f"{name}: {counted(len(deadlocked), 'deadlock')}, {facts['deadlocked_ever']:,} of "
        f"{facts['agents']:,} agents in {facts['run_s']:g} s"
    )
    text += f"\n{facts['stuck_ever']:,} were stuck for a time ({MEANINGS[facts['stuck_by']]})"
    if others:
        text += f"; {counted(others, 'group')} got on by {'itself' if others == 1 else 'themselves'}" + (
            "" if all_groups else " (--all lists them)"
        )
    if facts["stuck_by"] == "displacement":
        text += (
            "\nnote: this run was recorded by an older crowdsim, to which agents that jostle were not "
            "stuck; run its scenario again to find them"
        )
    shown = facts["groups"] if all_groups else deadlocked
    if shown:
        rows = [
            (
                each["cause"] if each["is_deadlock"] else f"{each['cause']} (no deadlock)",
                f"{each['since_s']:g} s",
                "the end" if each["until_s"] is None else f"{each['until_s']:g} s",
                each["people"],
                f"({each['x']:.2f}, {each['y']:.2f})",
                "" if each["gap_m"] is None else f"{each['gap_m']:.2f} m",
                _named(each["heads"]),
            )
            for each in shown
        ]
        text += "\n\n" + table(
            ("why", "since", "until", "agents", "place (m)", "gap", "blocked by"), rows, right=(1, 2, 3, 5)
        )
    now = [each for each in facts["people"] if all_groups or each["stuck_for_s"] >= 30.0 or not deadlocked]
    if now and shown:
        people = [
            (
                each["agent"],
                f"({each['x']:.2f}, {each['y']:.2f})",
                f"{each['stuck_for_s']:g} s",
                each["cause"],
                each["waits_for_name"] or "nobody",
                _part(each),
            )
            for each in now
        ]
        text += f"\n\nat {facts['at_s']:g} s:\n" + table(
            ("agent", "place (m)", "stuck for", "why", "waits for", "part"), people, right=(2,)
        )
    return text


def _part(person: dict[str, Any]) -> str:
    if person["ring"]:
        return "in a ring"
    return "head" if person["is_head"] else f"blocked by {person['head_name']}"


def _named(heads: list[str]) -> str:
    return ", ".join(heads[:MOST_NAMED]) + (
        f" and {len(heads) - MOST_NAMED:,} more" if len(heads) > MOST_NAMED else ""
    )
