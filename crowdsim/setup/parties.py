"""Which agents of a group belong together: parties of drawn sizes, and places next to each other."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.scenario.distributions import Distribution
from crowdsim.scenario.model import Group, Scenario
from crowdsim.scenario.shapes import GRID_M
from crowdsim.scenario.together import NO_PARTY
from crowdsim.setup import packing
from crowdsim.setup.draws import draw_distribution
from crowdsim.setup.placement import place
from crowdsim.world.random import Stream, agent_keys

_AT_ONCE = 256  # Sizes that are drawn together; a call of a kernel for each would cost more than the draw.
# Most parties for each of which the ground round its first agent is looked at; beyond, members get the
# nearest places that there are.
_MOST_ROOMS = 2_000


class Parties:
    """The parties of a group, by the indices of its agents: the first agents are the first party, and so on.

    Those that are there at the beginning, and those that come in while the run lasts, form parties of their
    own. Agents of a reserve belong to none: a program puts them in one by one.

    Parameters
    ----------
    name : str
        Of the group.
    size : Distribution
    seed : int
    count, reserve : int
        Agents of the group at the beginning, and those of its reserve.
    """

    def __init__(self, name: str, size: Distribution, seed: int, count: int, reserve: int) -> None:
        self._name, self._size, self._seed = name, size, seed
        self._count, self._first = count, count + reserve
        self._start: list[int] = []  # first index of each party
        drawn = self._drawn(0)
        at = 0
        while at < count:
            self._start.append(at)
            if len(self._start) > len(drawn):
                drawn += self._drawn(len(drawn))
            at += drawn[len(self._start) - 1]
        self._here = len(self._start)  # parties at the beginning
        self._next = self._first  # where the next party begins, of those that come

    def _drawn(self, first: int) -> list[int]:
        """Return the sizes of some parties, from one on."""
        keys = agent_keys(self._name, first + np.arange(_AT_ONCE))
        sizes = draw_distribution(self._size, self._seed, int(Stream.PARTY), keys)
        return np.maximum(1, sizes.astype(np.int64)).tolist()

    def _reach(self, index: int) -> None:
        """Draw parties until one ends beyond an index."""
        while self._next <= index:
            for size in self._drawn(len(self._start)):
                self._start.append(self._next)
                self._next += size

    def of(self, index: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the party of each agent, (k,); -1 of those of a reserve."""
        if len(index) and int(index.max()) >= self._first:
            self._reach(int(index.max()))
        found = np.searchsorted(np.array(self._start), index, side="right") - 1
        return np.where((index >= self._count) & (index < self._first), NO_PARTY, found).astype(np.int32)

    def first_of(self, index: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the index of the first of the party of each agent, (k,); of those without one, their own."""
        party, first = self.of(index), index.astype(np.int32)
        has_one = party != NO_PARTY
        first[has_one] = np.array(self._start, dtype=np.int32)[party[has_one]]
        return first


def parties_of(scenario: Scenario, group: Group) -> Parties | None:
    """Return the parties of a group; None where its agents go alone."""
    if group.together is None:
        return None
    return _parties(group.name, group.together.size, scenario.seed, group.count, group.reserve)


@lru_cache(maxsize=1024)
def _parties(name: str, size: Distribution, seed: int, count: int, reserve: int) -> Parties:
    return Parties(name, size, seed, count, reserve)


def party_numbers(
    scenario: Scenario, group: NDArray[np.int32], index: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the party of each of some agents in its group, (k,); -1 of those that go alone."""
    found = np.full(len(group), NO_PARTY, dtype=np.int32)
    if scenario.has_parties:
        for number, each in enumerate(scenario.groups):
            parties = parties_of(scenario, each)
            if parties is not None:
                rows = group == number
                found[rows] = parties.of(index[rows])
    return found


def party_keys(
    scenario: Scenario, group: NDArray[np.int32], index: NDArray[np.int32], key: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return from which key each of some agents draws what all of its party have in common, (k,): that of the
    first of its party, else its own.
    """
    if not scenario.has_parties:
        return key
    found = key.copy()
    for number, each in enumerate(scenario.groups):
        parties = parties_of(scenario, each)
        if parties is not None:
            rows = np.flatnonzero(group == number)
            found[rows] = agent_keys(each.name, parties.first_of(index[rows]))
    return found


def hurries(scenario: Scenario) -> NDArray[np.float64]:
    """Return at most how many times as fast as they like agents of each group walk, (groups,)."""
    return np.array([1.0 if each.together is None else each.together.hurry for each in scenario.groups])


def set_off_together(
    group: NDArray[np.int32], party: NDArray[np.int32], start: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return when agents set off, (k,) ticks: a party when the last of it is ready."""
    found = start.copy()
    rows = np.flatnonzero(party >= 0)
    _, own = np.unique(np.column_stack([group[rows], party[rows]]), axis=0, return_inverse=True)
    own = own.reshape(-1)
    latest = np.zeros(int(own.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(latest, own, start[rows])
    found[rows] = latest[own]
    return found


def place_together(
    scenario: Scenario,
    ground: object,
    regions: list[object],
    region: NDArray[np.int32],
    group: NDArray[np.int32],
    party: NDArray[np.int32],
    key: NDArray[np.uint64],
    radius: NDArray[np.float64],
    position: NDArray[np.float64],
) -> NDArray[np.float64] | None:
    """Place agents of parties next to each other, all others at random, on one floor.

    Parameters
    ----------
    scenario : Scenario
    ground : shapely Polygon or MultiPolygon, m
    regions : list of shapely geometries, m
    region, group, party : (n,) int32
    key : (n,) uint64
    radius : (n,) float64, m
    position : (n, 2) float64, m
        nan where a place is wanted.

    Returns
    -------
    (n, 2) float64, m, or None
        None where some found no room so; see `gather`.

    Notes
    -----
    The first of each party is placed as any agent is, the others within a circle round it that has room for
    all, as far as the ground there hangs together.
    """
    wanted = np.isnan(position[:, 0])
    members = np.flatnonzero(wanted & (party >= 0))
    label = np.column_stack([group[members], party[members]])
    parties, own = np.unique(label, axis=0, return_inverse=True)
    own = own.reshape(-1)
    if not len(members) or len(parties) > _MOST_ROOMS:
        return None
    first = np.full(len(parties), np.iinfo(np.int64).max)
    np.minimum.at(first, own, members)
    mates = np.setdiff1d(members, first)
    rest = np.setdiff1d(np.arange(len(key)), mates)
    placed = place(ground, regions, region[rest], key[rest], radius[rest], position[rest], scenario.seed)
    if (placed.status != packing.PLACED).any():
        return None
    found = position.copy()
    found[rest] = placed.position
    if not len(mates):
        return found
    sizes = np.bincount(own)
    rooms = [
        _room(ground, regions[region[row]], found[row], int(size), scenario.groups[group[row]], radius[row])
        for row, size in zip(first.tolist(), sizes.tolist(), strict=True)
    ]
    if any(room is None for room in rooms):
        return None
    of_row = np.zeros(len(key), dtype=np.int32)
    of_row[members] = own
    again = place(ground, rooms, of_row, key, radius, found, scenario.seed)
    return None if (again.status != packing.PLACED).any() else again.position


def _room(
    ground: object, region: object, at: NDArray[np.float64], size: int, group: Group, radius: float
) -> object | None:
    """Return where the others of a party are placed that has so many agents; None where there is no room."""
    assert group.together is not None
    apart = max(group.together.spacing, 2.0 * radius + 0.05)
    reach = apart * (np.sqrt(size / np.pi) + 0.6)
    circle = shapely.set_precision(shapely.buffer(shapely.Point(at), reach), GRID_M)
    found = shapely.intersection(shapely.intersection(circle, region), ground)
    parts = [each for each in shapely.get_parts(found) if each.geom_type == "Polygon"]
    near = [each for each in parts if shapely.distance(each, shapely.Point(at)) < 1e-6]
    return near[0] if near and near[0].area > size * np.pi * radius * radius else None


def gather(
    group: NDArray[np.int32],
    party: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    position: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return places exchanged among agents of a group so that those of a party are near each other, (n, 2) m.

    Each party takes the first place that is left and the nearest ones to it. All agents of a group have to
    fit where any of them does.
    """
    found = position.copy()
    for number in np.unique(group[wanted & (party >= 0)]).tolist():
        rows = np.flatnonzero(wanted & (group == number) & (party >= 0))
        left, free = position[rows], np.ones(len(rows), dtype=np.bool_)
        own = party[rows]
        for each in np.unique(own).tolist():
            taking = rows[own == each]
            anchor = int(np.argmax(free))
            away = hypots(*(left - left[anchor]).T)
            away[~free] = np.inf
            nearest = np.lexsort((np.arange(len(away)), away))[: len(taking)]
            found[taking] = left[nearest]
            free[nearest] = False
    return found
