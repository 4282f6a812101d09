"""Where agents were sent while a run went on: what stands behind numbers of goals that no scenario has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import shapely

from crowdsim.errors import ScenarioError
from crowdsim.recording.reader import Recording
from crowdsim.scenario.load import goal_described
from crowdsim.scenario.model import Goal, Scenario, point_goal_name
from crowdsim.scenario.schema import DEFAULT_ARRIVE_WITHIN_M

if TYPE_CHECKING:  # runs take names from here, and pandas takes longer to load than numba
    import pandas as pd

SET_PLACES = "places set by the run"  # all of them, in tables of goals


def place_name(x: float, y: float) -> str:
    """Return what a place is called that has no name in the scenario (m)."""
    return f"({x:.6g}, {y:.6g})"


class GoalsThen(Sequence[Goal]):
    """The goals of a recorded run by number, as they were at a tick: those of the scenario,
    and behind them those that the run had set.

    Parameters
    ----------
    scenario : Scenario
    sent : DataFrame
        The events SENT until then, in their order.
    regions : mapping of (int, float, float) to Goal
        Those that a program sent agents to: by tick and place of the event.
    """

    def __init__(self, scenario: Scenario, sent: pd.DataFrame, regions: Mapping[Any, Goal]) -> None:
        self._fixed, self._regions = scenario.goals, regions
        last = sent.drop_duplicates("value", keep="last")
        self._places = {
            int(number): (int(tick), float(x), float(y))
            for number, tick, x, y in zip(last["value"], last["tick"], last["x"], last["y"], strict=True)
        }

    def __len__(self) -> int:
        return max([len(self._fixed) - 1, *self._places]) + 1

    @overload
    def __getitem__(self, number: int) -> Goal: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Goal]: ...

    def __getitem__(self, number: int | slice) -> Goal | Sequence[Goal]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if number < len(self._fixed):
            return self._fixed[number]
        if number not in self._places:  # the events were not kept
            return Goal("", "region", area=shapely.Polygon())
        tick, x, y = self._places[number]
        return self._regions.get((tick, x, y)) or Goal(
            point_goal_name((x, y), DEFAULT_ARRIVE_WITHIN_M), "point", (x, y), DEFAULT_ARRIVE_WITHIN_M
        )


def places_reached(events: pd.DataFrame, arrivals: pd.DataFrame) -> list[str]:
    """Return what the places are called at which people arrived that a run had sent them to.

    Parameters
    ----------
    events : DataFrame
        All of the run.
    arrivals : DataFrame
        The events ARRIVAL at such places, (k,).
    """
    import pandas as pd

    sent = events.loc[events["kind"] == "SENT", ["time_s", "id", "value", "x_m", "y_m"]]
    came = arrivals[["time_s", "id", "value"]].reset_index(drop=True).reset_index()
    found = pd.merge_asof(
        came.sort_values("time_s", kind="stable"),
        sent.sort_values("time_s", kind="stable"),
        on="time_s",
        by=["id", "value"],
    ).sort_values("index")
    places = zip(found["x_m"].tolist(), found["y_m"].tolist(), strict=True)
    return [place_name(x, y) if x == x else "" for x, y in places]


def regions_set(recording: Recording, scenario: Scenario) -> dict[tuple[int, float, float], Goal]:
    """Return the regions that a program sent agents to, by tick and place of the events that tell of it."""
    found = {}
    for each in recording.interventions():
        said = each.arguments.get("goal")
        if each.call != "set_goal" or not isinstance(said, Mapping) or "region" not in said:
            continue
        shape = {name: value for name, value in said.items() if name not in ("storey", "height")}
        try:
            goal = goal_described(shape, scenario.geometry.walkable.bounds)
        except ScenarioError:  # no run took that, and no agent was sent there
            continue
        middle = goal.area.representative_point()
        found[each.tick + 1, float(middle.x), float(middle.y)] = goal
    return found
