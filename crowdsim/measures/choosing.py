"""Which goals agents chose, when and why, and how often they changed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.measures.scenarios import scenario_of
from crowdsim.measures.sources import Source, facts_of_run, run_of
from crowdsim.measures.tracks import with_units
from crowdsim.world.events import ChoiceReason, chose_parts

_LACKING = "choices among goals that are known."
_CHOICES = ("id", "group", "time_s", "before", "goal", "reason", "quicker_s", "expected_s")
_USE = ("group", "goal", "reason", "people", "times", "mean_quicker_s")
_CHANGES = ("group", "people", "changes", "changes_a_minute", "most_in_a_minute")
# Others had to: what they had chosen was closed.
_OF_THEIR_OWN = (ChoiceReason.QUICKER.words, ChoiceReason.OTHERS.words)


def choices(source: Source) -> pd.DataFrame:
    """Return which goal each person chose, when and why.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each choice: id; group; time_s (s); before: the goal before, empty for a first choice;
        goal; reason: nearest, quicker, closed, no path, familiar, in words; quicker_s: by how much it is
        quicker than the one before, or at first than the nearest (s; NaN where that is not why); expected_s:
        in which time the person expected to be through it (s). Ascending by time, then id. Empty where no
        goal of the scenario is a choice.

    Raises
    ------
    RecordingError
        If it is of measured people.
    """
    tracks = facts_of_run(source, _LACKING)
    own = tracks.events[tracks.events["kind"] == "CHOSE"].sort_values(["time_s", "id"], kind="stable")
    names = np.array([*(goal.name for goal in scenario_of(tracks).goals), ""], dtype=object)
    before, goal, reason = chose_parts(own["value"].to_numpy().astype(np.int64))
    words = np.array([_words(each) for each in reason.tolist()], dtype=object)
    quicker = np.where(words == ChoiceReason.QUICKER.words, own["x_m"].to_numpy(), np.nan)
    group = tracks.people.set_index("id")["group"].reindex(own["id"]).to_numpy()
    found = pd.DataFrame(
        {
            "id": own["id"].to_numpy(),
            "group": group,
            "time_s": own["time_s"].to_numpy(),
            "before": names[before],
            "goal": names[goal],
            "reason": words,
            "quicker_s": quicker,
            "expected_s": own["y_m"].to_numpy(),
        },
        columns=list(_CHOICES),
    )
    return with_units(found)


def choice_use(source: Source) -> pd.DataFrame:
    """Return how many of each group chose which goal for which reason.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each group, goal and reason that there was, ascending: group; goal; reason; people; times;
        mean_quicker_s (s).
    """
    chosen = choices(source)
    rows = [
        {
            "group": group,
            "goal": goal,
            "reason": reason,
            "people": int(own["id"].nunique()),
            "times": len(own),
            "mean_quicker_s": own["quicker_s"].mean(),
        }
        for (group, goal, reason), own in chosen.groupby(["group", "goal", "reason"], sort=True)
    ]
    return with_units(pd.DataFrame(rows, columns=list(_USE)))


def choice_changes(source: Source) -> pd.DataFrame:
    """Return how often people of each group changed what they had chosen.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run.

    Returns
    -------
    DataFrame
        One row for each group in which people chose, ascending: group; people: that chose; changes: for a
        quicker goal, those that had to leave one that was closed are not among them; changes_a_minute
        (1/min): of one person, on average over the time from its first choice to its end; most_in_a_minute:
        of one person in any 60 s.
    """
    tracks = facts_of_run(source, _LACKING)
    chosen = choices(tracks)
    with run_of(source) as run:
        last = run.last_seen_s()
    rows = []
    for group, own in chosen.groupby("group", sort=True):
        first = own.drop_duplicates("id")
        begins = zip(first["id"].tolist(), first["time_s"].tolist(), strict=True)
        spent = sum(max(0.0, last.get(person, begin) - begin) for person, begin in begins)
        changed = own[(own["before"] != "") & own["reason"].isin(_OF_THEIR_OWN)]
        most = max(
            (_most_within(each.to_numpy(), 60.0) for _, each in changed.groupby("id")["time_s"]), default=0
        )
        rows.append(
            {
                "group": group,
                "people": len(first),
                "changes": len(changed),
                "changes_a_minute": 60.0 * len(changed) / spent if spent > 0.0 else np.nan,
                "most_in_a_minute": most,
            }
        )
    return with_units(pd.DataFrame(rows, columns=list(_CHANGES)))


def _most_within(times: NDArray[np.float64], span: float) -> int:
    """Return how many of some ascending times (s) lie within a span (s) at most, its end left out."""
    until = np.searchsorted(times, times + span - 1e-9, side="left")
    return int((until - np.arange(len(times))).max(initial=0))


def _words(reason: int) -> str:
    return ChoiceReason(reason).words if reason in ChoiceReason._value2member_map_ else str(reason)
