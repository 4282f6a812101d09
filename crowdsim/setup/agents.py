"""The agents of a scenario, one by one, as arrays in the order of identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import Problem, ScenarioError
from crowdsim.scenario.areas import closed_at_the_begin
from crowdsim.scenario.distributions import Distribution
from crowdsim.scenario.model import Group, Scenario, Visit
from crowdsim.scenario.shapes import GRID_M, cleaned
from crowdsim.scenario.timetable import ticks_in
from crowdsim.setup import packing
from crowdsim.setup.draws import draw_distribution
from crowdsim.setup.placement import WALL_MARGIN_M, Placed, place
from crowdsim.world.random import Stream, agent_key

DENSEST = 0.9069  # Share that equal discs can cover at most (Thue); more is refused without a try.
USUAL_DENSEST = 0.7  # Share up to which crowds in plain rooms are placed without trouble; what a message advises.
NO_ID = -1


@dataclass(frozen=True, eq=False)
class Agents:
    """All agents of a scenario in the order of identity: explicit ids ascending, then by name of the group and index in it.

    Attributes
    ----------
    key : (n,) uint64
        Key of the agent's random streams.
    id : (n,) int64
        Explicit id, -1 where there is none.
    group : (n,) int32
        Index into the scenario's groups.
    index : (n,) int32
        Index in the group.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    speed : (n,) float64, m/s
        Desired speed on free ground.
    premovement : (n,) float64, s
    start_tick : (n,) int64
        First tick in which the agent may move: the first that begins when its premovement time has passed.
    plan : (n,) int32
        Index into `plans`.
    plans : tuple of tuple of Visit
        The different sequences of goals.
    leaves : (n,) bool
        Leaves the world at its last goal, else it stays there and stands.
    is_immovable : (n,) bool
        Is never pushed and never asked aside.
    """

    key: NDArray[np.uint64]
    id: NDArray[np.int64]
    group: NDArray[np.int32]
    index: NDArray[np.int32]
    position: NDArray[np.float64]
    radius: NDArray[np.float64]
    speed: NDArray[np.float64]
    premovement: NDArray[np.float64]
    start_tick: NDArray[np.int64]
    plan: NDArray[np.int32]
    plans: tuple[tuple[Visit, ...], ...]
    leaves: NDArray[np.bool_]
    is_immovable: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.key)


def resolve_agents(scenario: Scenario) -> Agents:
    """Draw and place the agents of a scenario.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    Agents
        A function of the scenario's seed and of each agent's identity: listing groups, or agents with ids, in another order gives the same arrays.

    Raises
    ------
    ScenarioError
        If agents do not fit into their region, with the numbers.
    """
    groups = scenario.groups
    counts = [group.count for group in groups]
    group = np.repeat(np.arange(len(groups), dtype=np.int32), counts)
    index = np.concatenate([np.arange(count, dtype=np.int32) for count in counts]) if counts else np.zeros(0, dtype=np.int32)
    ids = np.full(len(group), NO_ID, dtype=np.int64)
    base = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    for number, each in enumerate(groups):
        for row, agent in enumerate(each.listed):
            if agent.id is not None:
                ids[base[number] + row] = agent.id
    order = np.lexsort((index, group, ids, ids == NO_ID))
    group, index, ids = group[order], index[order], ids[order]
    names = [each.name for each in groups]
    rows = zip(group.tolist(), index.tolist(), ids.tolist(), strict=True)
    key = np.fromiter((agent_key(names[number], row, None if own == NO_ID else own) for number, row, own in rows), dtype=np.uint64, count=len(group))
    drawn = {name: _draw(scenario, name, stream, group, index, key) for name, stream in _STREAMS.items()}
    plan, plans = _plans(groups, group, index)
    return Agents(
        key=key,
        id=ids,
        group=group,
        index=index,
        position=_positions(scenario, group, index, key, drawn["radius"]),
        radius=drawn["radius"],
        speed=drawn["speed"],
        premovement=drawn["premovement"],
        start_tick=ticks_in(drawn["premovement"], scenario.tick),
        plan=plan,
        plans=plans,
        leaves=np.array([each.leave_on_arrival for each in groups], dtype=np.bool_)[group] if groups else np.zeros(0, dtype=np.bool_),
        is_immovable=_immovable(groups, group, index),
    )


_STREAMS = {"speed": Stream.SPEED, "radius": Stream.RADIUS, "premovement": Stream.PREMOVEMENT}


def _draw(scenario: Scenario, name: str, stream: Stream, group: NDArray[np.int32], index: NDArray[np.int32], key: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the drawn numbers of all agents; agents with one distribution are drawn together."""
    rows_of: dict[Distribution, list[NDArray[np.int64]]] = {}
    for number, each in enumerate(scenario.groups):
        rows = np.flatnonzero(group == number)
        own = [getattr(agent, name) for agent in each.listed]
        if any(own):
            for row in rows:
                rows_of.setdefault(own[index[row]] or getattr(each, name), []).append(np.array([row]))
        else:
            rows_of.setdefault(getattr(each, name), []).append(rows)
    out = np.empty(len(key))
    for distribution, parts in rows_of.items():
        together = np.concatenate(parts)
        out[together] = draw_distribution(distribution, scenario.seed, int(stream), key[together])
    return out


def _plans(groups: Sequence[Group], group: NDArray[np.int32], index: NDArray[np.int32]) -> tuple[NDArray[np.int32], tuple[tuple[Visit, ...], ...]]:
    """Return which sequence of goals each agent has, and the different ones."""
    known: dict[tuple[Visit, ...], int] = {}
    whole = np.array([known.setdefault(each.visits, len(known)) for each in groups], dtype=np.int32)
    plan = whole[group] if len(groups) else np.zeros(0, dtype=np.int32)
    for row in np.flatnonzero(np.isin(group, [number for number, each in enumerate(groups) if each.listed])):
        visits = groups[group[row]].listed[index[row]].visits
        if visits is not None:
            plan[row] = known.setdefault(visits, len(known))
    return plan, tuple(known)


def _immovable(groups: Sequence[Group], group: NDArray[np.int32], index: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return who is never pushed and never asked aside: as its group says, unless it says something else itself."""
    result = np.array([each.immovable for each in groups], dtype=np.bool_)[group] if groups else np.zeros(0, dtype=np.bool_)
    for row in np.flatnonzero(np.isin(group, [number for number, each in enumerate(groups) if each.listed])):
        own = groups[group[row]].listed[index[row]].immovable
        if own is not None:
            result[row] = own
    return result


def _positions(
    scenario: Scenario, group: NDArray[np.int32], index: NDArray[np.int32], key: NDArray[np.uint64], radius: NDArray[np.float64]
) -> NDArray[np.float64]:
    position = np.full((len(key), 2), np.nan)
    for number, each in enumerate(scenario.groups):
        rows = np.flatnonzero(group == number)
        if each.positions is not None:
            position[rows] = each.positions[index[rows]]
        elif each.listed:
            given = np.array([agent.position or (np.nan, np.nan) for agent in each.listed])
            position[rows] = given[index[rows]]
    if not np.isnan(position).any():
        return position
    regions, of_group = _distinct_regions(scenario)
    region = of_group[group]
    wanted = np.isnan(position[:, 0])
    _refuse_hopeless(scenario, regions, region, group, radius, wanted)
    layer = np.array([max(0, each.layer) for each in scenario.groups])[group]
    problems: list[Problem] = []
    for number in np.unique(layer[wanted]).tolist():  # floor by floor: who stands on another takes no room
        rows = np.flatnonzero(layer == number)
        placed = place(scenario.geometry.grounds[number], [area for _, area in regions], region[rows], key[rows], radius[rows], position[rows], scenario.seed)
        if (placed.status != packing.PLACED).any():
            problems += _misfits(scenario, regions, region[rows], group[rows], radius[rows], wanted[rows], placed)
        position[rows] = placed.position
    if problems:
        raise ScenarioError(problems)
    return position


def _distinct_regions(scenario: Scenario) -> tuple[list[tuple[Any, Any]], NDArray[np.int32]]:
    """Return the different regions with the grounds that they are on, and which one each group has; groups without one share all open ground of their floor."""
    known: dict[tuple[int, bytes], int] = {}
    regions: list[tuple[Any, Any]] = []
    of_group = []
    for each in scenario.groups:
        ground = scenario.geometry.grounds[max(0, each.layer)]
        area = each.region if each.region is not None else _open_ground(scenario, ground, each.radius.high)
        text = each.layer, area.wkb
        if text not in known:
            known[text] = len(regions)
            regions.append((ground, area))
        of_group.append(known[text])
    return regions, np.array(of_group, dtype=np.int32)


def _open_ground(scenario: Scenario, ground: Any, radius: float) -> Any:
    """Return where centres of bodies are that keep clear of what is closed at the begin; all ground where nothing is."""
    closed = [each.polygon for each in closed_at_the_begin(scenario.geometry.areas)]
    if not closed:
        return ground
    kept_off = shapely.union_all(closed, grid_size=GRID_M).buffer(radius, join_style="mitre")
    left = cleaned(shapely.difference(ground, kept_off, grid_size=GRID_M))
    return ground if left.is_empty else left


def _refuse_hopeless(
    scenario: Scenario,
    regions: Sequence[tuple[Any, Any]],
    region: NDArray[np.int32],
    group: NDArray[np.int32],
    radius: NDArray[np.float64],
    wanted: NDArray[np.bool_],
) -> None:
    """Raise where the bodies of a region would cover more of the ground than discs can."""
    problems = []
    for number, (ground, area) in enumerate(regions):
        rows = (region == number) & wanted
        if not rows.any():
            continue
        within = shapely.intersection(ground, shapely.buffer(area, float(radius[rows].max()))).area
        if bodies_area(radius[rows]) > DENSEST * within:
            problems += _too_many(scenario, ground, area, rows, group, radius, "they cannot fit")
    if problems:
        raise ScenarioError(problems)


def bodies_area(radius: NDArray[np.float64]) -> float:
    """Return the area that discs of these radii ((n,) m) cover together, m2."""
    return float(np.pi * np.sum(radius * radius))


def _misfits(
    scenario: Scenario,
    regions: Sequence[tuple[Any, Any]],
    region: NDArray[np.int32],
    group: NDArray[np.int32],
    radius: NDArray[np.float64],
    wanted: NDArray[np.bool_],
    placed: Placed,
) -> list[Problem]:
    """Return one problem for each group some of whose agents found no place."""
    problems = []
    for number, (ground, area) in enumerate(regions):
        rows = (region == number) & wanted
        homeless = rows & (placed.status == packing.HOMELESS)
        for each in np.unique(group[homeless]):
            own = scenario.groups[each]
            needed = float(radius[homeless & (group == each)].max()) + WALL_MARGIN_M
            message = f'"{own.name}": no point of the region was found that is {needed:.3g} m from all walls (the radius and 1 cm)'
            problems.append(_problem(own, message, "Widen the region, or make the radius smaller."))
        crowded = rows & (placed.status == packing.CROWDED)
        if crowded.any():
            problems += _too_many(scenario, ground, area, rows, group, radius, f"{int((rows & placed.free_at_once).sum()):,} found room")
    return problems


def _too_many(
    scenario: Scenario, ground: Any, area: Any, rows: NDArray[np.bool_], group: NDArray[np.int32], radius: NDArray[np.float64], outcome: str
) -> list[Problem]:
    """Return the problem of a region with too many agents, once for each of its groups."""
    size = float(shapely.intersection(ground, area).area)
    asked, covered = int(rows.sum()), bodies_area(radius[rows])
    sizes = f"radius {radius[rows].min():.3g}" if np.ptp(radius[rows]) == 0.0 else f"radii {radius[rows].min():.3g} to {radius[rows].max():.3g}"
    message = (
        f"{asked:,} agents ({sizes} m) on {size:.4g} m2 are {asked / size:.3g} a square metre, and their bodies would cover {covered / size:.0%} of it: "
        f"{outcome}"
    )
    fitting = int(asked * USUAL_DENSEST * size / covered)
    way_out = f"About {fitting:,} fit there ({USUAL_DENSEST:.0%} covered); {asked:,} need about {covered / USUAL_DENSEST:.3g} m2."
    return [_problem(scenario.groups[each], f'"{scenario.groups[each].name}": {message}', way_out) for each in np.unique(group[rows])]


def _problem(group: Group, message: str, way_out: str) -> Problem:
    return Problem(group.item, message, way_out, *group.place)


def recorded_rows(scenario: Scenario, agents: Agents) -> NDArray[np.bool_]:
    """Return which agents the scenario wants recorded, (n,) bool.

    Parameters
    ----------
    scenario : Scenario
    agents : Agents
    """
    chosen = scenario.record.agents
    keep = np.ones(len(agents), dtype=np.bool_) if isinstance(chosen, str) else chosen_rows(scenario, agents, chosen)
    if scenario.record.every > 1:
        keep &= np.arange(len(agents)) % scenario.record.every == 0
    return keep


def chosen_rows(scenario: Scenario, agents: Agents, chosen: Sequence[int | str]) -> NDArray[np.bool_]:
    """Return which agents have one of the ids or are in one of the groups that are named, (n,) bool."""
    ids = np.array([item for item in chosen if isinstance(item, int)], dtype=np.int64)
    groups = [number for number, group in enumerate(scenario.groups) if group.name in chosen]
    return np.isin(agents.group, groups) | (np.isin(agents.id, ids) & (agents.id != NO_ID))


def agent_label(scenario: Scenario, agents: Agents, row: int) -> str:
    """Return how messages and tables name the agent in a row: ``#7`` by its id, else ``crowd[3]``."""
    return f"#{agents.id[row]}" if agents.id[row] != NO_ID else f"{scenario.groups[agents.group[row]].name}[{agents.index[row]}]"
