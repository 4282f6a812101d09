"""Deadlocks: which agents were stuck when and where, which others they waited for, and why.

`stuck_spells` says when agents were stuck, `why_stuck` why at one moment and for what they waited,
`deadlocks` puts both together: one row for each group of agents that blocked each other or were blocked by
the same. What the words mean stands in docs/guides/deadlocks.md.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.front_doors import renamed_in
from crowdsim.measures.deadlock_by_place import stuck_by_place as stuck_by_place
from crowdsim.measures.deadlock_causes import NOBODY, WALL, Diagnosed, Moment, diagnose
from crowdsim.measures.deadlock_graph import BEHIND, CONTACT, YIELD, linked_parts
from crowdsim.measures.deadlock_recorded import Recorded
from crowdsim.measures.deadlock_stuck import DEADLOCK_SECONDS, STUCK_SECONDS, look_every
from crowdsim.measures.tracks import with_units
from crowdsim.old_names import FUNCTIONS
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording
from crowdsim.world.events import Cause

Source: TypeAlias = "str | os.PathLike[str] | Recording | Recorded"
LOOK_SECONDS = 5.0  # Between two moments of a run that are diagnosed.
# Links between spells beyond twice their number that are kept before they become groups. Fewer takes longer.
LEAST_LINKS = 65536
KINDS = {CONTACT: "contact", YIELD: "yields", CONTACT | YIELD: "contact, yields", BEHIND: "behind"}
if not TYPE_CHECKING:
    __getattr__ = renamed_in(__name__, FUNCTIONS)


class _Look(NamedTuple):
    """What was found of an agent at one moment; as in `Diagnosed`."""

    cause: Cause
    head: int
    waits_for: int
    is_head: bool
    ring: int
    gap_m: float


@dataclass(slots=True)
class _Found:
    """What was found at all looks at a spell that saw one cause.

    Attributes
    ----------
    looks : int
        How many.
    number : int
        The last of them, among all looks at the spell.
    last : _Look
    heads : set of int
        Entities that the agent was blocked by.
    """

    looks: int
    number: int
    last: _Look
    heads: set[int]


def stuck_spells(recording: Source) -> pd.DataFrame:
    """Return when agents were stuck: less than 0.2 m of progress along their path in ten seconds,
    not arrived, and not waiting by design.

    Parameters
    ----------
    recording : path, Recording, or Recorded

    Returns
    -------
    DataFrame
        entity, agent (name); still_since_s: since when it got on by so little (s), stuck_s: when it had been
        so for ten seconds, end_s: when it got on, NaN if never; duration_s: for how long it was stuck; x, y
        (m); is_long: it was still stuck after 30 s. One row for each time, ascending by begin, then entity.
    """
    run = _recorded(recording)
    spells, last_tick = run.spells, run.recording.commit.last_tick
    table = spells[["entity"]].assign(
        agent=[run.label(each, str(each)) for each in spells["entity"].tolist()],
        still_since_s=(spells["begin_tick"] * run.tick_s - STUCK_SECONDS).clip(lower=0.0).round(9),
        stuck_s=(spells["begin_tick"] * run.tick_s).round(9),
        end_s=(spells["end_tick"] * run.tick_s).where(spells["is_over"]).round(9),
        duration_s=((np.minimum(spells["end_tick"], last_tick) - spells["begin_tick"]) * run.tick_s).round(9),
        x=spells["x"],
        y=spells["y"],
    )
    every, _ = look_every(run.tick_s)
    look_of_deadlock = (
        spells["begin_tick"] + int(np.ceil(DEADLOCK_SECONDS / (every * run.tick_s) - 1e-9)) * every
    )
    table["is_long"] = look_of_deadlock < spells["end_tick"]
    return with_units(table, x="m", y="m")


def why_stuck(recording: Source, time_s: float | None = None) -> pd.DataFrame:
    """Return why agents were stuck at one moment, for all that were.

    Parameters
    ----------
    recording : path, Recording, or Recorded
    time_s : float, s, optional
        The last frame that is not later; default: the last frame.

    Returns
    -------
    DataFrame
        time_s, entity, agent, x, y (m), stuck_for_s, cause; waits_for: entity, -1 a wall, 0 none; head:
        entity at the head of what it waits for; is_head; ring: lowest entity of the agents that wait for each
        other, 0 none; group: lowest entity of those that are linked by waiting; gap_m: width of the gap
        before it, NaN where there is none, gap_x, gap_y: its middle. Ascending by entity.
    """
    run = _recorded(recording)
    moment = _moment_at(run, time_s)
    return _table_of(run, moment, diagnose(moment))


def _moment_at(run: Recorded, time_s: float | None) -> Moment:
    """Return the last frame that is not later than a time; without one, that of the end."""
    tick = run.recording.commit.last_tick if time_s is None else int(np.floor(time_s / run.tick_s + 1e-9))
    return run.moment(max(0, run.frame_at(tick)))


def waiting_graph(recording: Source, time_s: float | None = None) -> pd.DataFrame:
    """Return the edges of waiting at one moment.

    Parameters
    ----------
    recording : path, Recording, or Recorded
    time_s : float, s, optional
        As in `why_stuck`.

    Returns
    -------
    DataFrame
        entity, agent, other, other_agent (empty for an obstacle); kind: ``contact`` (it would walk into it)
        or ``yields`` (avoidance gives way to it), or both; ``behind`` (it keeps away from it); gap_m: between
        the discs.
    """
    run = _recorded(recording)
    moment = _moment_at(run, time_s)
    waits = diagnose(moment).waits
    source, target = moment.entity[waits.source], moment.entity[waits.target]
    table = pd.DataFrame(
        {
            "entity": source,
            "agent": [run.label(each, "") for each in source.tolist()],
            "other": target,
            "other_agent": [run.label(each, "") for each in target.tolist()],
            "kind": [KINDS[kind] for kind in waits.kind.tolist()],
            "gap_m": waits.gap,
        }
    )
    return with_units(table)


def deadlocks(recording: Source) -> pd.DataFrame:
    """Return the groups of agents that were stuck together, each with its cause, head, time and place.

    Parameters
    ----------
    recording : path, Recording, or Recorded

    Returns
    -------
    DataFrame
        cause; is_deadlock: the run reported one in it as deadlocked; people: how many were ever stuck in it;
        long: how many of them for 30 s; since_s: since when the first of them got on by little, until_s: when
        the last got on, NaN if never; x, y (m): middle of its heads; heads: entities of those that hold the
        others, and of the ring; entities: all of them; gap_m: width of the gap, NaN where there is none.
        Ascending by begin.

    Notes
    -----
    A run is diagnosed every `LOOK_SECONDS`, and in the middle of each spell. Spells that are linked by
    waiting at one of these moments are one group; its cause is the one that most of its agents had most of
    the time, and each of them has the one that it had most often. Which were deadlocked, and why, is what the
    run reported (the event DEADLOCKED), so that this, the verdict and programs that listened to it say the
    same.
    """
    return groups_of(stuck_people(recording))


def groups_of(people: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `deadlocks` from that of `stuck_people`."""
    rows = []
    for _, own in people.groupby("group", sort=False):
        votes: Counter[str] = Counter()
        counted = own[own["is_deadlock"]] if own["is_deadlock"].any() else own
        for cause, seen in zip(counted["cause"], counted["looks"], strict=True):
            votes[cause] += seen
        heads = own[own["is_head"]] if own["is_head"].any() else own
        cause = max(votes, key=lambda each: (votes[each], each))
        gaps = own["gap_m"].dropna()
        rows.append(
            {
                "cause": cause,
                "is_deadlock": bool(own["is_deadlock"].any()),
                "people": own["entity"].nunique(),
                "long": int(own.loc[own["is_long"], "entity"].nunique()),
                "since_s": float(own["still_since_s"].min()),
                "until_s": float("nan") if own["end_s"].isna().any() else float(own["end_s"].max()),
                "x": float(heads["x"].mean()),
                "y": float(heads["y"].mean()),
                "heads": sorted({each for several in heads["heads"] for each in several}),
                "entities": sorted(set(own["entity"].tolist())),
                "gap_m": float(gaps.median()) if len(gaps) else float("nan"),
            }
        )
    columns = [
        "cause",
        "is_deadlock",
        "people",
        "long",
        "since_s",
        "until_s",
        "x",
        "y",
        "heads",
        "entities",
        "gap_m",
    ]
    table = pd.DataFrame(rows, columns=columns).sort_values(
        ["since_s", "x", "y"], ignore_index=True, kind="stable"
    )
    return with_units(table, x="m", y="m")


def stuck_people(recording: Source, note: Callable[[str], None] = lambda _: None) -> pd.DataFrame:
    """Return one row for each time that an agent was stuck, with why:
    `stuck_spells` with what was found at the moments that `deadlocks` looks at.

    Parameters
    ----------
    recording : path, Recording, or Recorded
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    DataFrame
        The columns of `stuck_spells`; cause, head (entity), waits_for (entity), is_head, gap_m: what it was
        most often; heads: entities that it was blocked by; looks: how often it was looked at; group: number
        of the group of spells that are linked; is_deadlock: the run reported a deadlock, and its cause is the
        one that was reported.
    """
    run = _recorded(recording)
    spells = stuck_spells(run)
    found: list[dict[Cause, _Found]] = [{} for _ in range(len(spells))]
    looks = np.zeros(len(spells), dtype=np.int64)
    links: list[tuple[int, int]] = []
    frames = _looked_at(run)
    for done, frame in enumerate(frames):
        note(f"looking: {done + 1:,} of {len(frames):,} moments")
        moment = run.moment(frame)
        diagnosed = diagnose(moment)
        now = run.spells[(run.spells["begin_tick"] <= moment.tick) & (run.spells["end_tick"] > moment.tick)]
        first: dict[int, int] = {}
        for spell, entity in zip(now.index.tolist(), now["entity"].tolist(), strict=True):
            row = int(np.searchsorted(moment.entity, entity))
            if row == len(moment.entity) or moment.entity[row] != entity:
                continue  # not recorded there: outside the region that was kept
            gap = diagnosed.gap[row]
            width = gap.width if gap is not None else float("nan")
            head, waits_for, is_head, ring = (
                int(column[row])
                for column in (diagnosed.head, diagnosed.waits_for, diagnosed.is_head, diagnosed.ring)
            )
            look = _Look(Cause(int(diagnosed.cause[row])), head, waits_for, bool(is_head), ring, width)
            seen = found[spell].setdefault(look.cause, _Found(0, 0, look, set()))
            seen.looks, seen.number, seen.last = seen.looks + 1, int(looks[spell]), look
            seen.heads.add(entity if look.ring and look.is_head else look.head)
            looks[spell] += 1
            links.append((first.setdefault(int(diagnosed.group[row]), spell), spell))
        del moment, diagnosed  # before the next ones are made
        if len(links) > 2 * len(spells) + LEAST_LINKS:
            links = [*zip(_groups(len(spells), links), range(len(spells)), strict=True)]
    return _with_causes(spells, found, looks, run.reported(), _groups(len(spells), links))


def _groups(spells: int, links: list[tuple[int, int]]) -> list[int]:
    """Return the lowest spell that each is linked to."""
    source, target = np.array(links, dtype=np.int64).reshape(-1, 2).T
    return linked_parts(spells, source, target).tolist()


def _with_causes(
    spells: pd.DataFrame,
    found: list[dict[Cause, _Found]],
    looks: NDArray[np.int64],
    reported: list[Cause | None],
    group: list[int],
) -> pd.DataFrame:
    """Return spells with what was found of each at the moments that were looked at."""
    chosen, heads = [], []
    for own, why in zip(found, reported, strict=True):
        # The commonest cause, of equally common ones that of the later look; the rest as it was at the last
        # look with that cause.
        seen = [each for cause, each in own.items() if why in (None, cause)]
        most = max(seen, key=lambda each: (each.looks, each.number), default=None)
        unseen = _Look(why or Cause.UNKNOWN, NOBODY, NOBODY, False, NOBODY, float("nan"))
        chosen.append(unseen if most is None else most.last)
        heads.append([] if most is None else sorted(most.heads - {NOBODY}))
    found_of: dict[str, Any] = {"heads": heads}
    return spells.assign(
        **found_of,
        cause=[look.cause.words for look in chosen],
        head=[look.head for look in chosen],
        waits_for=[look.waits_for for look in chosen],
        is_head=[look.is_head for look in chosen],
        gap_m=[look.gap_m for look in chosen],
        looks=looks,
        group=group,
        is_deadlock=[why is not None for why in reported],
    )


def _looked_at(run: Recorded) -> list[int]:
    """Return the frames that are diagnosed: every `LOOK_SECONDS` while an agent is stuck,
    and in the middle of each spell.
    """
    ticks: set[int] = set()
    every = max(1, round(LOOK_SECONDS / run.tick_s))
    last = run.recording.commit.last_tick
    for begin, end in zip(run.spells["begin_tick"].tolist(), run.spells["end_tick"].tolist(), strict=True):
        ticks.add(begin + (min(end, last) - begin) // 2)
        ticks.update(range(-(-begin // every) * every, min(end, last + 1), every))
    frames = (
        np.unique([run.frame_at(tick) for tick in sorted(ticks)]) if ticks else np.zeros(0, dtype=np.int64)
    )
    return [int(frame) for frame in frames if frame >= 0]


def _recorded(recording: Source) -> Recorded:
    if isinstance(recording, Recorded):
        return recording
    return Recorded(open_run(Path(recording)) if isinstance(recording, (str, os.PathLike)) else recording)


def _table_of(run: Recorded, moment: Moment, diagnosed: Diagnosed) -> pd.DataFrame:
    """Return a diagnosis as a table."""
    rows = np.flatnonzero(moment.is_stuck)
    entity = moment.entity[rows]
    gaps = [diagnosed.gap[row] for row in rows.tolist()]
    middle = np.array(
        [0.5 * (gap.a + gap.b) if gap is not None else (np.nan, np.nan) for gap in gaps]
    ).reshape(-1, 2)
    table = pd.DataFrame({
        "time_s": round(moment.tick * moment.tick_length, 9), "entity": entity,
        "agent": [run.label(each, "") for each in entity.tolist()], "x": moment.position[rows, 0],
        "y": moment.position[rows, 1],
        "stuck_for_s": ((moment.tick - moment.stuck_tick[rows]) * run.tick_s).round(9),
        "cause": [Cause(int(cause)).words for cause in diagnosed.cause[rows]],
        "waits_for": diagnosed.waits_for[rows], "head": diagnosed.head[rows],
        "is_head": diagnosed.is_head[rows], "ring": diagnosed.ring[rows], "group": diagnosed.group[rows],
        "gap_m": [gap.width if gap is not None else np.nan for gap in gaps], "gap_x": middle[:, 0],
        "gap_y": middle[:, 1],
    })  # fmt: skip
    return with_units(table, **dict.fromkeys(("x", "y", "gap_x", "gap_y"), "m"))


def name_of(run: Recorded, entity: int) -> str:
    """Return what a user calls what an agent waits for: an agent, an obstacle, a wall, or nobody."""
    if entity == WALL:
        return "a wall"
    if entity == NOBODY:
        return ""
    return run.label(entity, "an obstacle")
