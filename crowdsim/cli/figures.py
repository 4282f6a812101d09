"""Figures as tables: of goals, lines and areas, and means over the runs of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crowdsim.cli.shell import table

if TYPE_CHECKING:
    import pandas as pd

MOST_COMBINATIONS = 40  # with a line in the table of means; --json and the table have them all

# Of tables: of each column its head, and with how many digits its numbers are shown.
EXITS = {
    "people": ("people", 0), "share": ("share", 2), "first_s": ("first s", 1), "median_s": ("median s", 1),
    "last_s": ("last s", 1), "mean_travel_s": ("mean travel s", 1), "flow_per_s": ("flow 1/s", 2),
}  # fmt: skip
STATES = {
    "people": ("people", 0), "times": ("times", 0), "mean_s": ("mean s", 1), "median_s": ("median s", 1),
    "longest_s": ("longest s", 1), "at_end": ("at end", 0),
}  # fmt: skip
PARTIES = {
    "parties": ("parties", 0), "members": ("members", 0), "mean_spread_m": ("spread m", 2),
    "widest_m": ("widest m", 2), "mean_angle_deg": ("angle deg", 0), "mean_apart_s": ("apart s", 1),
    "longest_apart_s": ("longest s", 1),
}  # fmt: skip
QUEUES = {
    "people": ("people", 0), "served": ("served", 0), "left": ("left", 0), "mean_wait_s": ("wait s", 1),
    "longest_wait_s": ("longest s", 1), "mean_service_s": ("service s", 1), "most_in_line": ("most", 0),
    "mean_in_line": ("mean", 1),
}  # fmt: skip
CHOICES = {
    "people": ("people", 0), "times": ("times", 0), "mean_quicker_s": ("quicker by s", 1),
}  # fmt: skip
CHANGES = {
    "people": ("people", 0), "changes": ("changes", 0), "changes_a_minute": ("each a minute", 2),
    "most_in_a_minute": ("most in a minute", 0),
}  # fmt: skip
RIDES = {
    "people": ("people", 0), "rode": ("rode", 0), "left": ("left", 0), "mean_wait_s": ("wait s", 1),
    "longest_wait_s": ("longest s", 1), "mean_ride_s": ("ride s", 1), "most_inside": ("inside", 0),
    "most_waiting": ("waiting", 0),
}  # fmt: skip
LINES = {
    "length_m": ("length m", 2), "forwards": ("forwards", 0), "backwards": ("backwards", 0),
    "first_s": ("first s", 1), "last_s": ("last s", 1), "flow_per_s": ("flow 1/s", 3),
    "specific_flow_per_m_s": ("flow 1/(m s)", 3),
}  # fmt: skip
AREAS = {
    "people": ("people", 0), "most": ("most", 0), "densest_per_m2": ("densest 1/m2", 2),
    "mean_density_per_m2": ("mean 1/m2", 2), "mean_speed_m_s": ("mean m/s", 2),
    "mean_stay_s": ("mean stay s", 1),
}  # fmt: skip


def places_text(facts: Mapping[str, Any]) -> list[str]:
    """Return the tables of lines and of areas, of those that there are."""
    return [
        table_of({head: head}, columns, facts[kind])
        for kind, head, columns in (("lines", "line", LINES), ("areas", "area", AREAS))
        if facts[kind]
    ]


def table_of(
    names: dict[str, str], columns: dict[str, tuple[str, int]], rows: Sequence[dict[str, Any]]
) -> str:
    """Return a table of names, and of numbers with so many digits."""
    heads = [*names.values(), *(head for head, _ in columns.values())]
    cells = [
        [
            *(row[name] for name in names),
            *(figure_text(row[name], digits) for name, (_, digits) in columns.items()),
        ]
        for row in rows
    ]
    return table(heads, cells, right=range(len(names), len(heads)))


def figure_text(value: Any, digits: int) -> str:
    """Return a number with so many digits; - for none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def means_text(means: pd.DataFrame, keys: Sequence[str], measures: Sequence[str] = ()) -> str:
    """Return means over the runs of each combination as a table: the mean, and the deviation behind ±.

    Parameters
    ----------
    means : DataFrame
        As `crowdsim.sweep.tables.means_of` returns them.
    keys : sequence of str
        The varied keys.
    measures : sequence of str
        Those that are shown; by default those that say most.
    """
    from crowdsim.sweep.tables import shown_measures

    names = [*measures] or shown_measures(means)
    rows = [
        (
            *("-" if is_missing(row[key]) else row[key] for key in keys),
            str(row["finished"]) if row["finished"] == row["runs"] else f"{row['finished']} of {row['runs']}",
            *(mean_text(row[f"mean_{name}"], row[f"sd_{name}"]) for name in names),
        )
        for row in means.head(MOST_COMBINATIONS).to_dict("records")
    ]
    heads = (*keys, "runs", *names)
    text = table(heads, rows, right=range(len(keys), len(heads)))
    more = len(means) - len(rows)
    return text + (f"\nand {more:,} more combinations: the table of means has all" if more > 0 else "")


def mean_text(mean: float, deviation: float) -> str:
    """Return a mean with its deviation behind ± where there is one; - where there is none."""
    if is_missing(mean):
        return "-"
    return f"{mean:.4g}" + ("" if is_missing(deviation) else f" ± {deviation:.2g}")


def is_missing(value: Any) -> bool:
    """Return whether a cell of a table has no value."""
    return value is None or value != value
