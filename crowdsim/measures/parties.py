"""How parties keep together: how far apart members are, side by side or in a line, and when they leave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.measures.scenarios import scenario_of
from crowdsim.measures.sources import Source, facts_of_run, tables_by_people
from crowdsim.measures.tracks import Tracks, with_units
from crowdsim.setup.parties import parties_of

_LACKING = "parties that are known."
LEAST_SPEED_M_S = 0.2  # Of the middle of a party that has a direction.
_SPREAD = ("group", "party", "time_s", "members", "spread_m", "along_m", "across_m", "angle_deg")
# Columns by which tables ascend.
PARTY_ORDER = {"spread": ("group", "party", "time_s"), "parties": ("group", "party")}
_USE = (
    "group", "party", "members", "mean_spread_m", "widest_m", "mean_angle_deg", "mean_speed_m_s", "left",
    "first_s", "last_s", "apart_s",
)  # fmt: skip


def party_spread(source: Source) -> pd.DataFrame:
    """Return how far apart the members of each party are over time.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each party and frame in which some of it were there: group; party; time_s (s); members;
        spread_m: greatest distance to their middle, as seen from above (m); along_m, across_m: how long and
        how wide the party is in the direction in which its middle goes (m; NaN where that is slower than
        0.2 m/s); angle_deg: mean angle between that direction and the line from one to the next across, 90
        is side by side and 0 in a line (degrees; NaN also of one member). Ascending by group, party, time.
        Empty where no agents form parties.

    Raises
    ------
    RecordingError
        If it is of measured people.
    """
    return _of_each_party(source, party_spread_in, *PARTY_ORDER["spread"])


def party_spread_in(tracks: Tracks) -> pd.DataFrame:
    """Return `party_spread` of tracks."""
    names, label = _labels(tracks)
    rows = np.flatnonzero(label >= 0)
    if not len(rows):
        return with_units(pd.DataFrame(columns=list(_SPREAD)))
    label = label[rows]
    order = np.lexsort((tracks.person[rows], tracks.frame[rows], label))
    rows, label = rows[order], label[order]
    frame, x, y = tracks.frame[rows], tracks.x[rows], tracks.y[rows]
    begin = np.flatnonzero(np.r_[True, (label[1:] != label[:-1]) | (frame[1:] != frame[:-1])])
    of_row = np.repeat(np.arange(len(begin)), np.diff(np.r_[begin, len(rows)]))
    members = np.bincount(of_row)
    dx, dy = x - _mean(x, begin, members)[of_row], y - _mean(y, begin, members)[of_row]
    spread = np.maximum.reduceat(np.hypot(dx, dy), begin)
    step = np.column_stack(_steps(tracks))[rows] * tracks.fps
    ux, uy = _mean(step[:, 0], begin, members), _mean(step[:, 1], begin, members)
    speed = np.hypot(ux, uy)
    goes = speed >= LEAST_SPEED_M_S  # of nan: no
    ux, uy = (
        np.where(goes, ux / np.where(goes, speed, 1.0), np.nan),
        np.where(goes, uy / np.where(goes, speed, 1.0), np.nan),
    )
    along, across = dx * ux[of_row] + dy * uy[of_row], dy * ux[of_row] - dx * uy[of_row]
    found = pd.DataFrame(
        {
            "group": [names[each][0] for each in label[begin].tolist()],
            "party": [names[each][1] for each in label[begin].tolist()],
            "time_s": tracks.frame_s[frame[begin] - tracks.first_frame],
            "members": members,
            "spread_m": spread,
            "along_m": _extent(along, begin),
            "across_m": _extent(across, begin),
            "angle_deg": _angles(along, across, of_row, len(begin)),
        },
        columns=list(_SPREAD),
    )
    return with_units(found)


def party_use(source: Source) -> pd.DataFrame:
    """Return how each party kept together.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each party that was seen: group; party; members: how many were ever seen; mean_spread_m,
        widest_m (m) and mean_angle_deg (degrees): of `party_spread`, over the frames in which all of them
        were there; mean_speed_m_s (m/s): of all members while they were there; left: how many arrived at
        their last goal; first_s, last_s: when the first and the last of these did (s); apart_s: the time
        between. Ascending by group and party.

    Raises
    ------
    RecordingError
        If it is of measured people.
    """
    return _of_each_party(
        source, lambda tracks: party_use_in(tracks, party_spread_in(tracks)), *PARTY_ORDER["parties"]
    )


def party_use_in(tracks: Tracks, spread: pd.DataFrame) -> pd.DataFrame:
    """Return `party_use` of tracks, from their `party_spread`."""
    names, label = _labels(tracks)
    arrived = tracks.events[tracks.events["kind"] == "ARRIVAL"].groupby("id")["time_s"].min()
    speed = np.hypot(*_steps(tracks)) * tracks.fps
    frames = dict(list(spread.groupby(["group", "party"])))
    rows = []
    for number, (group, party) in enumerate(names):
        own = frames.get((group, party))
        if own is None:
            continue
        mine = label == number
        members = np.unique(tracks.person[mine])
        left = arrived.reindex(members).dropna()
        complete = own[own["members"] == len(members)]
        rows.append(
            {
                "group": group,
                "party": party,
                "members": len(members),
                "mean_spread_m": complete["spread_m"].mean(),
                "widest_m": complete["spread_m"].max(),
                "mean_angle_deg": complete["angle_deg"].mean(),
                "mean_speed_m_s": float(np.nanmean(speed[mine]))
                if np.isfinite(speed[mine]).any()
                else np.nan,
                "left": len(left),
                "first_s": left.min(),
                "last_s": left.max(),
                "apart_s": left.max() - left.min(),
            }
        )
    return with_units(pd.DataFrame(rows, columns=list(_USE)))


def parties_of_groups(use: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `party_use` by group: group; parties; members; mean_spread_m, widest_m (m);
    mean_angle_deg (degrees); mean_apart_s, longest_apart_s (s): between the first and the last that left.
    """
    rows = [
        {
            "group": group,
            "parties": len(own),
            "members": int(own["members"].sum()),
            "mean_spread_m": own["mean_spread_m"].mean(),
            "widest_m": own["widest_m"].max(),
            "mean_angle_deg": own["mean_angle_deg"].mean(),
            "mean_apart_s": own["apart_s"].mean(),
            "longest_apart_s": own["apart_s"].max(),
        }
        for group, own in use.groupby("group", sort=True)
    ]
    columns = ["group", "parties", "members", "mean_spread_m", "widest_m", "mean_angle_deg"]
    return with_units(pd.DataFrame(rows, columns=[*columns, "mean_apart_s", "longest_apart_s"]))


def _of_each_party(source: Source, measure: Callable[[Tracks], pd.DataFrame], *order: str) -> pd.DataFrame:
    """Return a measure of which each row is of one party and depends on no other, ascending by some columns;
    of long runs it is taken part by part.
    """
    facts = facts_of_run(source, _LACKING)
    found = tables_by_people(source, lambda tracks: {"": measure(tracks)}, {"": order}, together(facts))
    return found[""]


def together(tracks: Tracks) -> NDArray[np.int64]:
    """Return a number for each of the people, (p,): the same for members of a party."""
    names, party = _parties(tracks)
    alone = party < 0
    party[alone] = len(names) + np.arange(np.count_nonzero(alone))
    return party


def _labels(tracks: Tracks) -> tuple[list[tuple[str, int]], NDArray[np.int64]]:
    """Return the parties of a run, (group, party), ascending, and which one each row of the tracks belongs
    to, (n,), -1 for none.
    """
    names, of_person = _parties(tracks)
    return names, of_person[np.searchsorted(tracks.people["id"].to_numpy(), tracks.person)]


def _parties(tracks: Tracks) -> tuple[list[tuple[str, int]], NDArray[np.int64]]:
    """Return the same for each of the people, (p,)."""
    scenario = scenario_of(tracks)
    people = tracks.people
    party = np.full(len(people), -1, dtype=np.int64)
    for group in scenario.groups:
        drawn = parties_of(scenario, group)
        if drawn is not None:
            own = np.flatnonzero((people["group"] == group.name).to_numpy())
            party[own] = drawn.of(people["index"].to_numpy()[own].astype(np.int32))
    known = party >= 0
    pairs = list(zip(people["group"][known].tolist(), party[known].tolist(), strict=True))
    names = sorted(set(pairs))
    number = {name: place for place, name in enumerate(names)}
    of_person = np.full(len(people), -1, dtype=np.int64)
    of_person[known] = [number[pair] for pair in pairs]
    return names, of_person


def _steps(tracks: Tracks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return by how much each person goes on from each row to the next, m; from the last row as to it."""
    found = []
    same = (tracks.person[1:] == tracks.person[:-1]) & (tracks.frame[1:] == tracks.frame[:-1] + 1)
    for places in (tracks.x, tracks.y):
        step = np.full(len(places), np.nan)
        step[:-1][same] = np.diff(places)[same]
        last = np.flatnonzero(np.isnan(step[1:]) & same) + 1
        step[last] = step[last - 1]
        found.append(step)
    return found[0], found[1]


def _mean(
    values: NDArray[np.float64], begin: NDArray[np.int64], count: NDArray[np.int64]
) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.add.reduceat(values, begin) / count
    return found


def _extent(values: NDArray[np.float64], begin: NDArray[np.int64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.maximum.reduceat(values, begin) - np.minimum.reduceat(values, begin)
    return found


def _angles(
    along: NDArray[np.float64], across: NDArray[np.float64], of_row: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    """Return the mean angle of neighbours across to the direction of their party, (count,), degrees."""
    order = np.lexsort((along, across, of_row))
    pair = of_row[order][1:] == of_row[order][:-1]
    angle = np.degrees(np.arctan2(np.abs(np.diff(across[order])), np.abs(np.diff(along[order]))))[pair]
    own = of_row[order][1:][pair]
    pairs = np.bincount(own, minlength=count)
    total = np.bincount(own, weights=angle, minlength=count)
    return np.where(pairs > 0, total / np.maximum(pairs, 1), np.nan)
