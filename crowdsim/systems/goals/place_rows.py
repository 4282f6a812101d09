"""Which agents matter for the places of regions, and how those that come in get their places: all regions
into which some come in a tick at once.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.places import FAR_M, Far, FreePlaces, choose_places, find_free, in_strips
from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.world.columns import Stepping
from crowdsim.world.states import ARRIVED, WAITING, WALKING

LEAST_SPEED = 0.05  # That is the least, in m/s: a slower agent does not keep a run from its end.
SLOWEST = 0.5  # Share of its speed that an agent is expected to reach on the way to its place.
_IN = np.uint8(Stepping.IN)
STAYS, OUT = np.uint8(1), np.uint8(2)
# Columns of parts: how many stay, and how many of these have a goal; and where in a list those begin and end
# that come near, those that come from farther off, and those that stand.
COUNT, WAITED_FOR, NEAR, FAR, STANDING, PART_COLUMNS = 0, 1, 2, 4, 6, 8
_WALKING, _STANDING = 0, 1  # lines of a list


class Crowd(NamedTuple):
    """Columns of agents."""

    activity: NDArray[np.uint8]
    goal: NDArray[np.int32]
    itinerary: NDArray[np.int32]
    layer: NDArray[np.int32]
    radius: NDArray[np.float64]
    position: NDArray[np.float64]
    desired_speed: NDArray[np.float64]
    is_yielding: NDArray[np.uint8]
    yield_target: NDArray[np.float64]
    yield_tick: NDArray[np.int64]


class Regions(NamedTuple):
    """Regions, what leads to them, and their places.

    Attributes
    ----------
    which : (k,) int64
        The rows of those that are looked at now, in what follows.
    number : (r,) int32
        Among the goals.
    is_fixed : (r,) bool
        Whether they are goals of the scenario. In others those stay that head for them.
    leads : (r, goals) bool
        Which goals of the scenario are the region, or may be.
    ends : (r, itineraries) bool
        Which itineraries end there, for agents that stay.
    low, high : (r, 2) float64, m
        A box around the places, its rim included; inf and -inf where there are none.
    layers : (r, f) int32
        The floors of the places.
    widest : (r,) float64, m
        The radius of the agents that places are for.
    start : (r + 1,) int64
        Place i of a region is ``point[start[row] + i]``.
    point : (p, 2) float64, m
    order : (p,) int64
        The numbers i of the places of each region, ascending along its axis.
    axis : (r,) int64
        0 x or 1 y.
    """

    which: NDArray[np.int64]
    number: NDArray[np.int32]
    is_fixed: NDArray[np.bool_]
    leads: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    layers: NDArray[np.int32]
    widest: NDArray[np.float64]
    start: NDArray[np.int64]
    point: NDArray[np.float64]
    order: NDArray[np.int64]
    axis: NDArray[np.int64]


class Settlers(NamedTuple):
    """Agents that are to have places, region by region.

    Attributes
    ----------
    row : (m,) int64
    start : (k + 1,) int64
        Those of a region are ``row[start[r]:start[r + 1]]``.
    waited_for : (k,) int64
        For how many more agents places are kept than those that have a goal and stay: these and, where they
        are not all, those after them.
    is_last : (k,) bool
        Whether there are no other places for one that gets to none of these.
    patience : float, s
        What they have beyond the time that they need at half of their speed.
    tick : int
    tick_length : float, s
    """

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    waited_for: NDArray[np.int64]
    is_last: NDArray[np.bool_]
    patience: float
    tick: int
    tick_length: float


@lean_kernel
def survey_region(at, start, stop, regions, agents, stays, found, part):
    """Find the agents that matter for the places of a region, in one pass: those that head for it, or will
    once they start, or walk in its box, which are not to be shut in; those that stay there in the end; and
    those that stand in or near the box, or are about to.

    Parameters
    ----------
    at : int
        The row of the region.
    start, stop : int
        Range of rows of agents.
    regions : Regions
    agents : Crowd
        -1 is no goal and no itinerary. One that is yielding is about to stand at its target instead of where
        it is.
    stays : (n,) uint8
        In: STAYS for more that stay, OUT for those that do and do not count as standing, else 0. Out: not 0
        for all that stay.
    found : (2, n) int32
        Receives rows. Above, those that come, or walk in the box: from `start` on those at most `FAR_M`
        outside the box, before `stop` the others; below, from `start` on, those that stand.
    part : (PART_COLUMNS,) int64
        Receives how many there are, and where.

    Returns
    -------
    float, m
        The greatest radius of those that stay.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    count, waited_for, widest, near, far, standing = 0, 0, 0.0, 0, 0, 0
    low_x, low_y, high_x, high_y = (
        regions.low[at, 0],
        regions.low[at, 1],
        regions.high[at, 0],
        regions.high[at, 1],
    )
    number, is_fixed, own = regions.number[at], regions.is_fixed[at], regions.widest[at]
    leads, ends, layers = regions.leads[at], regions.ends[at], regions.layers[at]
    for row in range(np.uint64(start), np.uint64(stop)):
        activity, goal = agents.activity[row], agents.goal[row]
        walks = activity == WALKING
        comes = (walks or activity == WAITING) and goal >= 0
        if comes:
            comes = leads[goal] if goal < leads.size else goal == number
        known = stays[row]
        is_staying = comes
        if is_fixed:
            is_staying = agents.itinerary[row] >= 0 and ends[agents.itinerary[row]]
        if known != 0 or is_staying:
            stays[row] = max(known, STAYS)
            count += 1
            waited_for += goal >= 0
            widest = max(widest, agents.radius[row])
        if comes or walks:
            x, y = agents.position[row, 0], agents.position[row, 1]
            outside = max(max(low_x - x, x - high_x), max(low_y - y, y - high_y))
            if outside <= (FAR_M if comes else 0.0):
                found[_WALKING, start + near] = row
                near += 1
            elif comes:
                far += 1
                found[_WALKING, stop - far] = row
        if walks or activity == ARRIVED or known == OUT:
            continue
        is_there = False
        for floor in layers:
            is_there |= agents.layer[row] == floor
        if not is_there:
            continue
        place = agents.yield_target if agents.is_yielding[row] != 0 else agents.position
        x, y, reach = place[row, 0], place[row, 1], agents.radius[row] + own
        if low_x - x <= reach and x - high_x <= reach and low_y - y <= reach and y - high_y <= reach:
            found[_STANDING, start + standing] = row
            standing += 1
    part[COUNT], part[WAITED_FOR] = count, waited_for
    part[NEAR], part[NEAR + 1], part[FAR], part[FAR + 1] = start, start + near, stop - far, stop
    part[STANDING], part[STANDING + 1] = start, start + standing
    return widest


@lean_kernel
def survey_regions(start, stop, regions, agents, stays, found, parts, widest):
    """Survey a range of the shares into which rows are divided, for all regions.

    Parameters
    ----------
    start, stop : int
    regions : Regions
    agents : Crowd
    stays, found, parts, widest : (k, n), (k, 2, n), (k, shares, PART_COLUMNS), (k, shares)
        In and out: what `survey_region` has, by region.
    """
    rows, shares = agents.activity.size, parts.shape[1]
    for share in range(start, stop):
        first, last = rows * share // shares, rows * (share + 1) // shares
        for at in range(regions.which.size):
            widest[at, share] = survey_region(
                regions.which[at], first, last, regions, agents, stays[at], found[at], parts[at, share]
            )


@lean_kernel
def count_listed(parts, first):
    """Return how many rows are listed in the `parts`, (p, PART_COLUMNS), from the one that stands in their
    column `first` on, before the one in the next.
    """
    count = 0
    for part in range(parts.shape[0]):
        count += parts[part, first + 1] - parts[part, first]
    return count


@kernel
def standing_places(agents, row, parts, sent, own):
    """Return where those are that stand, or are about to, (2, s) m, and in the third row how far from them
    places are taken by an agent of a radius `own`, m.

    Parameters
    ----------
    agents : Crowd
    row : (n,) int32
    parts : (p, PART_COLUMNS) int64
        What `survey_region` has found: rows of the lower line of its list, and which.
    sent : (s,) int64
        More that have just been sent to places, if they were: those that were listed may be among them.
    own : float, m

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    out, at = np.empty((3, count_listed(parts, STANDING) + sent.size)), 0
    for part in range(parts.shape[0]):
        for listed in range(parts[part, STANDING], parts[part, STANDING + 1]):
            at = _note_place(agents, row[listed], own, out, at)
    for one in sent:
        if agents.is_yielding[one] != 0:
            at = _note_place(agents, one, own, out, at)
    return out[:, :at]


@inlined_kernel
def _note_place(agents, row, own, out, at):
    """Note one that stands, or is about to, and return the next place in the list."""
    place = agents.yield_target if agents.is_yielding[row] != 0 else agents.position
    out[0, at], out[1, at], out[2, at] = place[row, 0], place[row, 1], agents.radius[row] + own
    return at + 1


@kernel
def _choose_in(at, regions, agents, mesh, polygon, found, parts, settlers, sent, chosen):
    """Let agents choose places in a region; return how many have chosen, see `choose_places`.

    Parameters
    ----------
    at : int
        The region, among those that are looked at.
    regions, agents, mesh, polygon, found, parts, settlers, chosen
        As for `settle`.
    sent : (s,) int64
        See `standing_places`.
    """
    own = regions.which[at]
    first, last, axis = regions.start[own], regions.start[own + 1], regions.axis[own]
    point, walkers, distance = regions.point[first:last], found[at, _WALKING], np.empty(last - first)
    standing = standing_places(agents, found[at, _STANDING], parts[at], sent, regions.widest[own])
    find_free(point, axis, regions.order[first:last], standing, distance)
    free = FreePlaces(
        point,
        in_strips(axis, agents.position, walkers, parts[at, :, NEAR : NEAR + 2]),
        Far(walkers, np.ascontiguousarray(parts[at, :, FAR : FAR + 2]), agents.position),
        distance,
        np.zeros(last - first, dtype=np.bool_),
    )
    mine = slice(settlers.start[at], settlers.start[at + 1])
    waited_for = settlers.waited_for[at]
    for part in range(parts.shape[1]):
        waited_for += parts[at, part, WAITED_FOR]
    return choose_places(
        settlers.row[mine], free, waited_for, settlers.is_last[at], mesh, polygon, agents.position,
        agents.radius, chosen[mine],
    )  # fmt: skip


@kernel
def choose_apart(start, stop, regions, agents, mesh, polygon, found, parts, settlers, chosen, done):
    """Let agents choose places in a range of regions, each as if none came into the others. Parameters as for
    `settle`, which takes back what is not so.
    """
    for at in range(start, stop):
        done[at] = _choose_in(
            at, regions, agents, mesh, polygon, found, parts, settlers, settlers.row[:0], chosen
        )


@kernel
def settle(regions, agents, mesh, polygon, found, parts, settlers, chosen, done):
    """Let agents go to places in one region after the other. They choose anew where one that goes to a place
    in a region before stood, or will stand, near the places.

    Parameters
    ----------
    regions : Regions
    agents : Crowd
        In and out: those that have a place are sent there.
    mesh : NavMesh
    polygon : (n,) int64
        Under all agents.
    found : (k, 2, n) int32
    parts : (k, shares, PART_COLUMNS) int64
        What `survey_regions` has found.
    settlers : Settlers
    chosen : (m,) int64
        In and out: the numbers of their places, -1 for none, as `choose_apart` has found them.
    done : (k,) int64
        In and out: how many have chosen in each region; see `choose_places`.

    Returns
    -------
    int
        In how many regions they had to choose anew.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    again, were_going = 0, False
    for one in settlers.row:  # then it is not known any more where they stood, or were about to
        were_going |= agents.is_yielding[one] != 0
    for at in range(done.size):
        begin, end, own = settlers.start[at], settlers.start[at + 1], regions.which[at]
        for one in settlers.row[:begin]:
            if agents.is_yielding[one] != 0 and (
                were_going
                or _is_beside(regions, own, agents.position, agents.radius, one)
                or _is_beside(regions, own, agents.yield_target, agents.radius, one)
            ):
                done[at] = _choose_in(
                    at, regions, agents, mesh, polygon, found, parts, settlers, settlers.row[:begin], chosen
                )
                again += 1
                break
        first, last = regions.start[own], regions.start[own + 1]
        send_in(
            settlers.row[begin : begin + done[at]],
            chosen[begin:end],
            regions.point[first:last],
            agents,
            settlers,
        )
    return again


@inlined_kernel
def _is_beside(regions, at, place, radius, row):
    """Return whether an agent at its place, of (n, 2) m, is in the box of a region, or so near to it that it
    may take places there.
    """
    x, y, reach = place[row, 0], place[row, 1], radius[row] + regions.widest[at]
    return (
        regions.low[at, 0] - x <= reach
        and x - regions.high[at, 0] <= reach
        and regions.low[at, 1] - y <= reach
        and y - regions.high[at, 1] <= reach
    )


@lean_kernel
def send_in(rows, chosen, point, agents, settlers):
    """Let agents go to places for a while.

    Parameters
    ----------
    rows : (k,) int64
        Of the agents.
    chosen : (>= k,) int64
        The numbers of their places; -1 is none.
    point : (p, 2) float64, m
    agents : Crowd
        In and out.
    settlers : Settlers

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    for k in range(rows.size):
        if chosen[k] < 0:
            continue
        row, x, y = rows[k], point[chosen[k], 0], point[chosen[k], 1]
        pace = max(LEAST_SPEED, SLOWEST * agents.desired_speed[row])
        needed = hypot(x - agents.position[row, 0], y - agents.position[row, 1]) / pace + settlers.patience
        agents.is_yielding[row] = _IN
        agents.yield_target[row, 0], agents.yield_target[row, 1] = x, y
        agents.yield_tick[row] = settlers.tick + np.int64(np.ceil(needed / settlers.tick_length))
