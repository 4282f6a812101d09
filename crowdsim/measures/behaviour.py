"""What agents did: how long they were in the states of their machines, and how long they stood in line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from crowdsim.measures.scenarios import scenario_of
from crowdsim.measures.sources import Source, facts_of_run
from crowdsim.measures.tracks import Tracks, with_units
from crowdsim.world.events import REASONS, Reason

_LACKING = "states of machines, and no queues."
_GONE = ("ARRIVAL", "RETIRED")
_SPELLS = ("id", "group", "machine", "state", "from_s", "until_s", "lasted_s", "reason", "then")
_IN_LINE = ("id", "group", "queue", "joined_s", "called_s", "served_s", "left_s", "waited_s", "outcome")


def state_spells(source: Source) -> pd.DataFrame:
    """Return which people were in which state of their machine, when, and why.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each time that a state was entered: id; group; machine; state; from_s, until_s, lasted_s
        (s; NaN where it lasts to the end of the recording); reason: why it began; then: the state that came
        next, ``end``, ``left``, or empty. Ascending by id, then time. Empty where no group has a behaviour.

    Raises
    ------
    RecordingError
        If it is of measured people.
    """
    tracks = facts_of_run(source, _LACKING)
    names = [name.split(": ", 1) for name in scenario_of(tracks).behaviours.state_names]
    group = tracks.people.set_index("id")["group"]
    rows: list[dict[str, object]] = []
    own: dict[str, object] | None = None  # the spell that is open, of the person before
    for person, time, kind, value in told(tracks, ("STATE", *_GONE)):
        number, reason = divmod(value, REASONS) if kind == "STATE" else (-1, 0)
        goes_on = kind == "STATE" and number >= 0
        if own is not None and own["id"] == person:
            then = names[number][1] if goes_on else "end" if kind == "STATE" else "left"
            own |= {"until_s": time, "lasted_s": time - float(str(own["from_s"])), "then": then}
        own = None
        if goes_on:
            machine, state = names[number]
            own = {
                "id": person, "group": group.get(person, ""), "machine": machine, "state": state,
                "from_s": time, "until_s": np.nan, "lasted_s": np.nan, "reason": Reason(reason).words,
                "then": "",
            }  # fmt: skip
            rows.append(own)
    return with_units(pd.DataFrame(rows, columns=list(_SPELLS)))


def state_use(source: Source) -> pd.DataFrame:
    """Return how often and how long people were in each state.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each state of each machine, in the order of the scenario: machine; state; people; times:
        how often it began; mean_s, median_s, longest_s (s): of those that ended; at_end: how many are in it
        at the end.
    """
    tracks = facts_of_run(source, _LACKING)
    spells = state_spells(tracks)
    rows = []
    for name in scenario_of(tracks).behaviours.state_names:
        machine, state = name.split(": ", 1)
        own = spells[(spells["machine"] == machine) & (spells["state"] == state)]
        lasted = own["lasted_s"].dropna()
        rows.append(
            {
                "machine": machine,
                "state": state,
                "people": own["id"].nunique(),
                "times": len(own),
                "mean_s": lasted.mean(),
                "median_s": lasted.median(),
                "longest_s": lasted.max(),
                "at_end": int(own["until_s"].isna().sum()),
            }
        )
    columns = ["machine", "state", "people", "times", "mean_s", "median_s", "longest_s", "at_end"]
    return with_units(pd.DataFrame(rows, columns=columns))


def waits_in_line(source: Source) -> pd.DataFrame:
    """Return which people stood in which line, when, and whether they were served.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each time that a person joined a line: id; group; queue; joined_s, called_s (left the
        head of the line for a server), served_s (service begins), left_s (s); waited_s (s): from joined to
        called, or to when it left; outcome: served, left (without that), or waits. Ascending by joined_s,
        then id. NaN of what did not happen.
    """
    tracks = facts_of_run(source, _LACKING)
    queues = [queue.name for queue in scenario_of(tracks).queues]
    kinds = ("JOINED_LINE", "CALLED", "SERVED", "STATE", *_GONE)
    group = tracks.people.set_index("id")["group"]
    rows: list[dict[str, object]] = []
    own: dict[str, object] | None = None
    for person, time, kind, value in told(tracks, kinds):
        is_same = own is not None and own["id"] == person
        if kind == "JOINED_LINE":
            own = dict.fromkeys(_IN_LINE, np.nan) | {
                "id": person, "group": group.get(person, ""), "queue": queues[value],
                "joined_s": time, "outcome": "waits",
            }  # fmt: skip
            rows.append(own)
        elif is_same and own is not None:
            joined = float(str(own["joined_s"]))
            if kind == "CALLED":
                own |= {"called_s": time, "waited_s": time - joined}
            elif kind == "SERVED":
                own["served_s"] = time
            else:  # it goes on to something else, or leaves the world
                was_served = own["served_s"] == own["served_s"]
                own |= {"left_s": time, "outcome": "served" if was_served else "left"}
                if own["called_s"] != own["called_s"]:
                    own["waited_s"] = time - joined
                own = None
    found = pd.DataFrame(rows, columns=list(_IN_LINE))
    return with_units(found.sort_values(["joined_s", "id"], kind="stable", ignore_index=True))


def queue_use(source: Source) -> pd.DataFrame:
    """Return how long people waited in each queue, and how long its lines were.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each queue: queue; people: that joined; served; left: without that; mean_wait_s,
        median_wait_s, longest_wait_s (s): of those that were called; mean_service_s (s); most_in_line: the
        most at a time in all its lines; mean_in_line: over the time from the first that joined to the last
        that left the line.
    """
    tracks = facts_of_run(source, _LACKING)
    waits = waits_in_line(tracks)
    rows = []
    for queue in scenario_of(tracks).queues:
        own = waits[waits["queue"] == queue.name]
        called = own["waited_s"][own["called_s"].notna()]
        times, people = _in_line(own)
        span = times[-1] - times[0] if times else 0.0
        mean = float(np.dot(people[:-1], np.diff(times)) / span) if span > 0.0 else np.nan
        rows.append(
            {
                "queue": queue.name,
                "people": len(own),
                "served": int((own["outcome"] == "served").sum()),
                "left": int((own["outcome"] == "left").sum()),
                "mean_wait_s": called.mean(),
                "median_wait_s": called.median(),
                "longest_wait_s": called.max(),
                "mean_service_s": (own["left_s"] - own["served_s"]).mean(),
                "most_in_line": max(people, default=0),
                "mean_in_line": mean,
            }
        )
    columns = [
        "queue", "people", "served", "left", "mean_wait_s", "median_wait_s", "longest_wait_s",
        "mean_service_s", "most_in_line", "mean_in_line",
    ]  # fmt: skip
    return with_units(pd.DataFrame(rows, columns=columns))


def trips(source: Source) -> pd.DataFrame:
    """Return how many of each group arrived where, and how long it took them.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each group and goal at which people of it arrived: group; goal; people; share: of the
        group's arrivals; mean_travel_s, longest_travel_s (s). Ascending by group, then goal.
    """
    from crowdsim.measures.exits import arrivals

    came = arrivals(source)
    rows = []
    for (group, goal), own in came.groupby(["group", "goal"], sort=True):
        rows.append(
            {
                "group": group,
                "goal": goal,
                "people": len(own),
                "share": len(own) / int((came["group"] == group).sum()),
                "mean_travel_s": own["travel_s"].mean(),
                "longest_travel_s": own["travel_s"].max(),
            }
        )
    columns = ["group", "goal", "people", "share", "mean_travel_s", "longest_travel_s"]
    return with_units(pd.DataFrame(rows, columns=columns))


def queue_lengths(source: Source) -> pd.DataFrame:
    """Return how many people stood in the lines of each queue over time.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each moment in which that changed: queue; time_s (s); people: in all lines of the queue
        from then on. Ascending by queue, then time.
    """
    tracks = facts_of_run(source, _LACKING)
    waits = waits_in_line(tracks)
    parts = [
        pd.DataFrame({"queue": queue.name, "time_s": times, "people": people})
        for queue in scenario_of(tracks).queues
        for times, people in [_in_line(waits[waits["queue"] == queue.name])]
    ]
    columns = ["queue", "time_s", "people"]
    found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return with_units(found[columns])


def _in_line(waits: pd.DataFrame) -> tuple[list[float], list[int]]:
    """Return the times at which a line became longer or shorter, and how many stood in it from then on."""
    change: defaultdict[float, int] = defaultdict(int)
    for time in waits["joined_s"].tolist():
        change[time] += 1
    for time in waits["called_s"].fillna(waits["left_s"]).dropna().tolist():
        change[time] -= 1
    times = sorted(change)
    return times, np.cumsum([change[time] for time in times], dtype=np.int64).tolist()


def told(tracks: Tracks, kinds: Sequence[str]) -> Iterator[tuple[int, float, str, int]]:
    """Yield what happened to people, of these kinds, person by person: id, time (s), kind, value."""
    own = tracks.events[tracks.events["kind"].isin(kinds)].sort_values(["id", "time_s"], kind="stable")
    yield from zip(
        own["id"].tolist(), own["time_s"].tolist(), own["kind"], own["value"].astype(np.int64).tolist(),
        strict=True,
    )  # fmt: skip
