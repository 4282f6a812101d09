"""Connections: how long people waited before them and rode, and how many were inside at once."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdsim.measures.behaviour import told
from crowdsim.measures.scenarios import scenario_of
from crowdsim.measures.sources import Source, facts_of_run
from crowdsim.measures.tracks import with_units
from crowdsim.world.riding import ENDS

_LACKING = "connections that are known."
_GONE = ("ARRIVAL", "RETIRED")
_RIDES = (
    "id", "group", "connection", "begin", "end", "joined_s", "boarded_s", "out_s", "waited_s", "rode_s",
    "outcome",
)  # fmt: skip


def rides(source: Source) -> pd.DataFrame:
    """Return which people took which connection, when, and how long they waited and rode.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each time that a person waited at a connection: id; group; connection; begin, end: the
        numbers of the ends or stops where it went in and came out, -1 where it did not; joined_s, boarded_s,
        out_s (s); waited_s (s): until it went in, or left; rode_s (s); outcome: rode, left (without a ride,
        or a waypath before its end), waits or rides (at the end). Ascending by joined_s, then id. NaN of what
        did not happen.
    """
    tracks = facts_of_run(source, _LACKING)
    names = [each.name for each in scenario_of(tracks).carriers]
    group = tracks.people.set_index("id")["group"]
    rows: list[dict[str, object]] = []
    own: dict[str, object] | None = None
    for person, time, kind, value in told(tracks, ("WAITS_AT", "BOARDED", "ALIGHTED", "LEFT_GATE", *_GONE)):
        is_same = own is not None and own["id"] == person
        if kind == "WAITS_AT":
            number, end = divmod(value, ENDS)
            own = dict.fromkeys(_RIDES, np.nan) | {
                "id": person, "group": group.get(person, ""), "connection": names[number],
                "begin": end, "end": -1, "joined_s": time, "outcome": "waits",
            }  # fmt: skip
            rows.append(own)
        elif is_same and own is not None:
            if kind == "BOARDED":
                own |= {"boarded_s": time, "waited_s": time - float(str(own["joined_s"])), "outcome": "rides"}
                continue
            if kind == "ALIGHTED":
                rode = time - float(str(own["boarded_s"]))
                own |= {"out_s": time, "rode_s": rode, "end": value % ENDS, "outcome": "rode"}
            elif own["outcome"] == "rides" and kind == "LEFT_GATE":  # a waypath, before its end
                own |= {"outcome": "left"}
            elif own["outcome"] == "waits":
                own |= {"waited_s": time - float(str(own["joined_s"])), "outcome": "left"}
            own = None
    found = pd.DataFrame(rows, columns=list(_RIDES))
    return with_units(found.sort_values(["joined_s", "id"], kind="stable", ignore_index=True))


def ride_use(source: Source) -> pd.DataFrame:
    """Return how much each connection was used.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each connection, and each portal that has lain there: connection; kind; people: that
        waited; rode; left: without a ride;
        mean_wait_s, longest_wait_s (s): of those that went in; mean_ride_s (s); most_inside: the most at a
        time; most_waiting.
    """
    tracks = facts_of_run(source, _LACKING)
    table, rows = rides(tracks), []
    for each in scenario_of(tracks).carriers:
        own = table[table["connection"] == each.name]
        if each.is_jump and own.empty:  # no portal has lain there
            continue
        went = own[own["boarded_s"].notna()]
        rows.append(
            {
                "connection": each.name,
                "kind": each.kind,
                "people": len(own),
                "rode": int((own["outcome"] == "rode").sum()),
                "left": int((own["outcome"] == "left").sum()),
                "mean_wait_s": went["waited_s"].mean(),
                "longest_wait_s": went["waited_s"].max(),
                "mean_ride_s": own["rode_s"].mean(),
                "most_inside": _most(went["boarded_s"], went["out_s"]),
                "most_waiting": _most(own["joined_s"], own["joined_s"] + own["waited_s"]),
            }
        )
    columns = [
        "connection", "kind", "people", "rode", "left", "mean_wait_s", "longest_wait_s", "mean_ride_s",
        "most_inside", "most_waiting",
    ]  # fmt: skip
    return with_units(pd.DataFrame(rows, columns=columns))


def _most(begin: pd.Series, end: pd.Series) -> int:
    """Return how many spells there are at most at a time; one that ends as another begins is over."""
    ends = end.dropna().to_numpy(dtype=np.float64)
    times = np.concatenate([ends, begin.to_numpy(dtype=np.float64)])
    change = np.concatenate([np.full(len(ends), -1), np.full(len(begin), 1)])
    order = np.argsort(times, kind="stable")
    return int(np.cumsum(change[order]).max(initial=0))
