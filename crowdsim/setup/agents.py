"""The agents of a scenario, one by one, as arrays in the order of identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import Problem, ScenarioError
from crowdsim.scenario.areas import closed_at_the_begin
from crowdsim.scenario.distributions import Distribution
from crowdsim.scenario.model import Group, RadiusChange, Scenario, Visit, options_of
from crowdsim.scenario.shapes import GRID_M, cleaned
from crowdsim.scenario.timetable import ticks_in
from crowdsim.setup import packing
from crowdsim.setup.draws import draw_distribution
from crowdsim.setup.parties import (
    gather,
    hurries,
    party_keys,
    party_numbers,
    place_together,
    set_off_together,
)
from crowdsim.setup.placement import WALL_MARGIN_M, place
from crowdsim.world.columns import AGENT_COLUMNS, PARTY_COLUMNS
from crowdsim.world.random import Stream, agent_key, agent_keys, draw_uniform
from crowdsim.world.world import Itinerary

DENSEST = 0.9069  # Share that equal discs can cover at most (Thue); more is refused without a try.
# Share up to which crowds in plain rooms are placed without trouble; what a message advises.
USUAL_DENSEST = 0.7
NO_ID = -1
_DRAWN = (("radius", Stream.RADIUS), ("speed", Stream.SPEED), ("premovement", Stream.PREMOVEMENT))
_SHARED = ("group_names", "itineraries")  # Fields that are not of each agent.
_COLUMNS = {column.name for column in (*AGENT_COLUMNS, *PARTY_COLUMNS)}


@dataclass(frozen=True, eq=False)
class Agents:
    """All agents of a scenario in the order of identity:
    explicit ids ascending, then by name of the group and index in it.

    A field that has the name of a column is what the agents have in that column when they come into the
    world.

    Attributes
    ----------
    id : (n,) int64
        Explicit id, -1 where there is none.
    index : (n,) int32
        Index in the group.
    group_names : list of str
        Of all groups.
    highest_speed : (n,) float64, m/s
        Of its own desired speed and those of its goals.
    itineraries : list of Itinerary
        The different ones, each agent's by the column `itinerary`.
    key : (n,) uint64
        Key of the agent's random streams.
    group : (n,) int32
        Index into the scenario's groups.
    itinerary : (n,) int32
    position : (n, 2) float64, m
    radius : (n,) float64, m
    desired_speed : (n,) float64, m/s
        On free ground, where the first goal has no speed of its own.
    start_tick : (n,) int64
        First tick in which the agent may move: the first that begins when its premovement time has passed.
    symmetry_draw : (n,) float64
        One draw in 0..1 for each.
    is_immovable : (n,) bool
        Is never pushed and never asked aside.
    party : (n,) int32
        Number of its party in its group, -1 where it goes alone.
    """

    id: NDArray[np.int64]
    index: NDArray[np.int32]
    group_names: list[str]
    highest_speed: NDArray[np.float64]
    itineraries: list[Itinerary]
    key: NDArray[np.uint64]
    group: NDArray[np.int32]
    itinerary: NDArray[np.int32]
    position: NDArray[np.float64]
    radius: NDArray[np.float64]
    desired_speed: NDArray[np.float64]
    start_tick: NDArray[np.int64]
    symmetry_draw: NDArray[np.float64]
    is_immovable: NDArray[np.bool_]
    party: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.key)

    def label(self, row: int) -> str:
        """Return what a user calls an agent: ``#7`` by its id, else ``crowd[3]``."""
        own = int(self.id[row])
        return f"#{own}" if own != NO_ID else f"{self.group_names[self.group[row]]}[{self.index[row]}]"

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return what the agents have in columns when they come into the world, by the names of these."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name in _COLUMNS}


def _machine_speeds(scenario: Scenario) -> NDArray[np.float64]:
    """Return the highest speed (m/s) that some state of the machine of each group has, (groups,)."""
    found = [scenario.behaviours.fastest(group.behaviour) for group in scenario.groups]
    return np.array(found, dtype=np.float64)


def _factors(scenario: Scenario) -> NDArray[np.float64]:
    """Return how many times as fast as they like agents of each group may walk, (groups,): to catch up with
    their party, and on waypaths.
    """
    paces = [
        max(
            (each.fastest for each in scenario.waypaths if not each.groups or group.name in each.groups),
            default=1.0,
        )
        for group in scenario.groups
    ]
    return hurries(scenario) * np.array(paces, dtype=np.float64)


def resolve_agents(scenario: Scenario) -> Agents:
    """Draw and place the agents of a scenario.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    Agents
        A function of the scenario's seed and of each agent's identity: listing groups, or agents with ids, in
        another order gives the same arrays.

    Raises
    ------
    ScenarioError
        If agents do not fit into their region, with the numbers.
    """
    groups = scenario.groups
    counts = [each.count for each in groups]
    group = np.repeat(np.arange(len(groups), dtype=np.int32), counts)
    index = np.concatenate(
        [np.zeros(0, dtype=np.int32), *(np.arange(count, dtype=np.int32) for count in counts)]
    )
    ids = np.full(len(group), NO_ID, dtype=np.int64)
    base = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    for number, each in enumerate(groups):
        for row, agent in enumerate(each.listed):
            if agent.id is not None:
                ids[base[number] + row] = agent.id
    order = np.lexsort((index, group, ids, ids == NO_ID))
    group, index, ids = group[order], index[order], ids[order]
    names = [each.name for each in groups]
    key = _keys(names, group, index)
    named = np.flatnonzero(ids != NO_ID)
    key[named] = [agent_key("", 0, own) for own in ids[named].tolist()]
    radius, speed, premovement = (
        _draw(scenario, *_values(groups, order, name), stream, key) for name, stream in _DRAWN
    )
    itineraries, itinerary = _itineraries(scenario, order, group, party_keys(scenario, group, index, key))
    highest = np.array(
        [max((speed for speed in each.speeds if not np.isnan(speed)), default=-1.0) for each in itineraries]
    )
    immovable, which = _values(groups, order, "immovable")
    party = party_numbers(scenario, group, index)
    return Agents(
        id=ids,
        index=index,
        group_names=names,
        highest_speed=_factors(scenario)[group]
        * np.maximum(np.maximum(speed, highest[itinerary]), _machine_speeds(scenario)[group]),
        itineraries=itineraries,
        key=key,
        group=group,
        itinerary=itinerary,
        position=_positions(scenario, group, index, key, radius, party),
        radius=radius,
        desired_speed=speed,
        start_tick=set_off_together(group, party, ticks_in(premovement, scenario.tick)),
        symmetry_draw=draw_uniform(scenario.seed, Stream.SYMMETRY, key, 0.0, 1.0),
        is_immovable=np.array(immovable, dtype=np.bool_)[which],
        party=party,
    )


def _keys(names: Sequence[str], group: NDArray[np.int32], index: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the keys of agents that have no ids, by the names of all groups, (k,)."""
    key = np.empty(len(group), dtype=np.uint64)
    for number in np.unique(group).tolist():
        rows = np.flatnonzero(group == number)
        key[rows] = agent_keys(names[number], index[rows])
    return key


def with_reserve(scenario: Scenario, agents: Agents) -> Agents:
    """Return all agents that the scenario lists: those of `resolve_agents`, and behind them the reserves of
    the groups, by group and index; these have no place, nan.
    """
    groups = scenario.groups
    counts = [each.reserve for each in groups]
    if not any(counts):
        return agents
    group = np.repeat(np.arange(len(groups), dtype=np.int32), counts)
    index = np.concatenate([each.count + np.arange(each.reserve, dtype=np.int32) for each in groups])
    more = further_agents(scenario, group, index, list_itineraries(scenario), len(agents.itineraries))
    both = {field.name: (getattr(agents, field.name), getattr(more, field.name)) for field in fields(Agents)}
    joined: dict[str, Any] = {
        name: np.concatenate([one, other]) if name not in _SHARED else one
        for name, (one, other) in both.items()
    }
    return Agents(**joined | {"itineraries": agents.itineraries + more.itineraries})


@dataclass(frozen=True, eq=False)
class Itineraries:
    """The lists of goals of agents that are not listed one by one.

    Attributes
    ----------
    itineraries : list of Itinerary
        Those of one group after those of the other.
    start : (groups + 1,) int64
        Where those of each begin.
    shares : list of list of float
        Of each group: how many have each of its lists, in any unit.
    """

    itineraries: list[Itinerary]
    start: NDArray[np.int64]
    shares: list[list[float]]


def list_itineraries(scenario: Scenario) -> Itineraries:
    """Return the lists of goals that further agents of each group may have."""
    options = [options_of(each.visits) for each in scenario.groups]
    return Itineraries(
        [
            _itinerary(visits, group.leave_on_arrival)
            for group, own in zip(scenario.groups, options, strict=True)
            for visits, _ in own
        ],
        np.cumsum([0, *(len(own) for own in options)]).astype(np.int64),
        [[share for _, share in own] for own in options],
    )


def further_agents(
    scenario: Scenario,
    group: NDArray[np.int32],
    index: NDArray[np.int32],
    lists: Itineraries,
    first: int,
) -> Agents:
    """Return agents that come after those of the beginning: a function of the seed, their groups and indices.

    Parameters
    ----------
    scenario : Scenario
    group, index : (k,) int32
    lists : Itineraries
    first : int
        The number that the first of these has in the world.

    Returns
    -------
    Agents
        They have no place, nan.
    """
    groups = scenario.groups
    names = [each.name for each in groups]
    key = _keys(names, group, index)
    radius, speed, premovement = (
        _draw(scenario, [getattr(each, name) for each in groups], group.astype(np.int64), stream, key)
        for name, stream in _DRAWN
    )
    itinerary, shared = lists.start[group], party_keys(scenario, group, index, key)
    for number in np.unique(group).tolist():
        if len(lists.shares[number]) > 1:
            rows = np.flatnonzero(group == number)
            itinerary[rows] += _drawn_options(scenario.seed, shared[rows], lists.shares[number])
    highest = np.array(
        [
            max((speed for speed in each.speeds if not np.isnan(speed)), default=-1.0)
            for each in lists.itineraries
        ]
    )
    return Agents(
        id=np.full(len(key), NO_ID, dtype=np.int64),
        index=index,
        group_names=names,
        highest_speed=_factors(scenario)[group]
        * np.maximum(np.maximum(speed, highest[itinerary]), _machine_speeds(scenario)[group]),
        itineraries=lists.itineraries,
        key=key,
        group=group,
        itinerary=(itinerary + first).astype(np.int32),
        position=np.full((len(key), 2), np.nan),
        radius=radius,
        desired_speed=speed,
        start_tick=ticks_in(premovement, scenario.tick),
        symmetry_draw=draw_uniform(scenario.seed, Stream.SYMMETRY, key, 0.0, 1.0),
        is_immovable=np.array([each.immovable for each in groups], dtype=np.bool_)[group],
        party=party_numbers(scenario, group, index),
    )


def _values(
    groups: Sequence[Group], order: NDArray[np.int64], name: str
) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the different values that a key has, and which one each agent has, (n,) in an order:
    its own, else that of its group.
    """
    known: dict[Any, int] = {}
    which = [np.zeros(0, dtype=np.int64)]
    for group in groups:
        shared = getattr(group, name)
        own = [shared if value is None else value for value in (getattr(each, name) for each in group.listed)]
        numbers = [known.setdefault(value, len(known)) for value in own or [shared] * bool(group.count)]
        which.append(np.array(numbers, dtype=np.int64).repeat(1 if own else group.count))
    return list(known), np.concatenate(which)[order]


def _draw(
    scenario: Scenario,
    distributions: Sequence[Distribution],
    which: NDArray[np.int64],
    stream: Stream,
    key: NDArray[np.uint64],
) -> NDArray[np.float64]:
    """Return a drawn number for each agent; agents with one distribution are drawn together."""
    out = np.empty(len(key))
    together = np.split(
        np.argsort(which, kind="stable"), np.cumsum(np.bincount(which, minlength=len(distributions)))
    )
    for distribution, rows in zip(distributions, together, strict=False):
        out[rows] = draw_distribution(distribution, scenario.seed, int(stream), key[rows])
    return out


def _itineraries(
    scenario: Scenario, order: NDArray[np.int64], group: NDArray[np.int32], key: NDArray[np.uint64]
) -> tuple[list[Itinerary], NDArray[np.int32]]:
    """Return the different itineraries, in the order in which agents have them first,
    and which one each agent has.
    """
    groups = scenario.groups
    visits, which = _values(groups, order, "visits")
    options, drawn = [options_of(each) for each in visits], np.zeros(len(order), dtype=np.int64)
    for number, own in enumerate(options):
        if len(own) > 1:
            rows = np.flatnonzero(which == number)
            drawn[rows] = _drawn_options(scenario.seed, key[rows], [share for _, share in own])
    leaves = np.array([each.leave_on_arrival for each in groups], dtype=np.bool_)[group]
    most = max((len(own) for own in options), default=1)
    code = (which * most + drawn) * 2 + leaves
    known, first, place = np.unique(code, return_index=True, return_inverse=True)
    in_order = np.argsort(first)
    numbers = np.empty(len(known), dtype=np.int32)
    numbers[in_order] = np.arange(len(known))
    itineraries = [
        _itinerary(options[of_agent][option][0], bool(own_leaves))
        for of_agent, option, own_leaves in zip(
            which[first[in_order]].tolist(),
            drawn[first[in_order]].tolist(),
            leaves[first[in_order]].tolist(),
            strict=True,
        )
    ]
    return itineraries, numbers[place]


def _drawn_options(seed: int, key: NDArray[np.uint64], shares: Sequence[float]) -> NDArray[np.int64]:
    """Return which of several lists of goals each agent draws, by shares in any unit, (k,)."""
    edges = np.cumsum(np.array(shares))
    draw = draw_uniform(seed, Stream.DESTINATION, key, 0.0, 1.0)
    return np.minimum(np.searchsorted(edges / edges[-1], draw, side="right"), len(shares) - 1)


def _itinerary(visits: Sequence[Visit], leaves: bool) -> Itinerary:
    speeds = tuple(np.nan if visit.speed is None else visit.speed for visit in visits)
    return Itinerary(tuple(visit.goal for visit in visits), speeds, leaves)


def _positions(
    scenario: Scenario,
    group: NDArray[np.int32],
    index: NDArray[np.int32],
    key: NDArray[np.uint64],
    radius: NDArray[np.float64],
    party: NDArray[np.int32],
) -> NDArray[np.float64]:
    position = np.full((len(key), 2), np.nan)
    for number, each in enumerate(scenario.groups):
        rows = np.flatnonzero(group == number)
        if each.positions is not None:
            position[rows] = each.positions[index[rows]]
        elif each.listed:
            listed = np.array([agent.position or (np.nan, np.nan) for agent in each.listed])
            position[rows] = listed[index[rows]]
    if not np.isnan(position).any():
        return position
    regions, of_group = _distinct_regions(scenario)
    region = of_group[group]
    wanted = np.isnan(position[:, 0])
    crowds = [(ground, area, (region == number) & wanted) for number, (ground, area) in enumerate(regions)]
    _refuse_hopeless(scenario, crowds, group, radius)
    layer = np.array([max(0, each.layer) for each in scenario.groups])[group]
    status, free_at_once = np.zeros(len(key), dtype=np.uint8), np.ones(len(key), dtype=np.bool_)
    for number in np.unique(layer[wanted]).tolist():  # floor by floor: an agent on another takes no room here
        rows = np.flatnonzero(layer == number)
        ground, areas = scenario.geometry.grounds[number], [area for _, area in regions]
        own_party, needed = party[rows], radius[rows]
        if (own_party >= 0).any():
            found = place_together(
                scenario, ground, areas, region[rows], group[rows], own_party, key[rows], needed,
                position[rows],
            )  # fmt: skip
            if found is not None:
                position[rows] = found
                continue
            # each place is to have room for any of the group: they are exchanged
            most = np.array([each.radius.high if each.together else 0.0 for each in scenario.groups])
            needed = np.maximum(needed, most[group[rows]])
        placed = place(ground, areas, region[rows], key[rows], needed, position[rows], scenario.seed)
        if (own_party >= 0).any() and (placed.status == packing.PLACED).all():
            position[rows] = gather(group[rows], own_party, wanted[rows], placed.position)
            continue
        position[rows], status[rows], free_at_once[rows] = placed.position, placed.status, placed.free_at_once
    if problems := _misfits(scenario, crowds, group, radius, status, free_at_once):
        raise ScenarioError(problems)
    return position


def _distinct_regions(scenario: Scenario) -> tuple[list[tuple[Any, Any]], NDArray[np.int32]]:
    """Return the different regions with the grounds that they are on, and which one each group has;
    groups without one share all open ground of their floor.
    """
    known: dict[tuple[int, bytes], int] = {}
    regions: list[tuple[Any, Any]] = []
    of_group = []
    for each in scenario.groups:
        ground = scenario.geometry.grounds[max(0, each.layer)]
        area = (
            each.region if each.region is not None else _open_ground(scenario, each.layer, each.radius.high)
        )
        text = each.layer, area.wkb
        if text not in known:
            known[text] = len(regions)
            regions.append((ground, area))
        of_group.append(known[text])
    return regions, np.array(of_group, dtype=np.int32)


def _open_ground(scenario: Scenario, layer: int, radius: float) -> Any:
    """Return where on a floor the centre of an agent keeps clear of what is closed at the beginning;
    all ground where nothing is.
    """
    ground = scenario.geometry.grounds[max(0, layer)]
    closed = [
        each.polygon for each in closed_at_the_begin(scenario.geometry.areas) if each.layer in (-1, layer)
    ]
    if not closed:
        return ground
    too_near = shapely.union_all(closed, grid_size=GRID_M).buffer(radius, join_style="mitre")
    left = cleaned(shapely.difference(ground, too_near, grid_size=GRID_M))
    return ground if left.is_empty else left


# the ground of a floor, a region on it, and which agents look for places there
_Crowd = tuple[Any, Any, NDArray[np.bool_]]


def _refuse_hopeless(
    scenario: Scenario, crowds: Sequence[_Crowd], group: NDArray[np.int32], radius: NDArray[np.float64]
) -> None:
    """Raise where the agents of a region would cover more of the ground than discs can."""
    problems = []
    for ground, area, rows in crowds:
        within = shapely.intersection(ground, shapely.buffer(area, float(radius[rows].max(initial=0.0)))).area
        if discs_area(radius[rows]) > DENSEST * within:
            problems += _too_many(scenario, ground, area, rows, group, radius, "they cannot fit")
    if problems:
        raise ScenarioError(problems)


def discs_area(radius: NDArray[np.float64]) -> float:
    """Return the area that discs of these radii ((n,) m) cover together, m2."""
    return float(np.pi * np.sum(radius * radius))


def _misfits(
    scenario: Scenario,
    crowds: Sequence[_Crowd],
    group: NDArray[np.int32],
    radius: NDArray[np.float64],
    status: NDArray[np.uint8],
    free_at_once: NDArray[np.bool_],
) -> list[Problem]:
    """Return one problem for each group some of whose agents found no place."""
    problems = []
    for ground, area, rows in crowds:
        homeless = rows & (status == packing.HOMELESS)
        for each in np.unique(group[homeless]):
            own = scenario.groups[each]
            needed = float(radius[homeless & (group == each)].max()) + WALL_MARGIN_M
            problems.append(
                _problem(
                    own,
                    f'"{own.name}": no point of the region was found that is {needed:.3g} m from all walls '
                    "(the radius and 1 cm)",
                    "Widen the region, or make the radius smaller.",
                )
            )
        if (rows & (status == packing.CROWDED)).any():
            problems += _too_many(
                scenario,
                ground,
                area,
                rows,
                group,
                radius,
                f"{int((rows & free_at_once).sum()):,} found room",
            )
    return problems


def _too_many(
    scenario: Scenario,
    ground: Any,
    area: Any,
    rows: NDArray[np.bool_],
    group: NDArray[np.int32],
    radius: NDArray[np.float64],
    outcome: str,
) -> list[Problem]:
    """Return the problem of a region with too many agents, once for each of its groups."""
    size = float(shapely.intersection(ground, area).area)
    wanted, covered = int(rows.sum()), discs_area(radius[rows])
    sizes = (
        f"radius {radius[rows].min():.3g}"
        if np.ptp(radius[rows]) == 0.0
        else f"radii {radius[rows].min():.3g} to {radius[rows].max():.3g}"
    )
    message = (
        f"{wanted:,} agents ({sizes} m) on {size:.4g} m2 are {wanted / size:.3g} a square metre, and their "
        f"bodies would cover {covered / size:.0%} of it: "
        f"{outcome}"
    )
    fitting = int(wanted * USUAL_DENSEST * size / covered)
    return [
        _problem(
            scenario.groups[each],
            f'"{scenario.groups[each].name}": {message}',
            (
                f"About {fitting:,} fit there ({USUAL_DENSEST:.0%} covered); {wanted:,} need about "
                f"{covered / USUAL_DENSEST:.3g} m2."
            ),
        )
        for each in np.unique(group[rows])
    ]


def _problem(group: Group, message: str, way_out: str) -> Problem:
    return Problem(group.item, message, way_out, *group.place)


def chosen_rows(scenario: Scenario, agents: Agents, chosen: Sequence[int | str]) -> NDArray[np.bool_]:
    """Return which agents have one of the ids or are in one of the groups that are named, (n,) bool."""
    ids = np.array([item for item in chosen if isinstance(item, int)], dtype=np.int64)
    groups = [number for number, group in enumerate(scenario.groups) if group.name in chosen]
    return np.isin(agents.group, groups) | (np.isin(agents.id, ids) & (agents.id != NO_ID))


def greatest_radii(scenario: Scenario, agents: Agents) -> NDArray[np.float64]:
    """Return the greatest radius that each agent has, (n,), m, if all events of the scenario happen."""
    radius = agents.radius.copy()
    for event in scenario.events:
        if isinstance(event.change, RadiusChange):
            rows = chosen_rows(scenario, agents, event.change.agents)
            radius[rows] = np.maximum(radius[rows], event.change.radius)
    return radius
