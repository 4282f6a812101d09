"""Naive twin of the sampling kernels, in float64 and plain Python,
written from [Mononen 2010] and the definitions.

Twin of `lay_out_neighbours`, `lay_out_walls`, `urgency_and_side`, `first_collision`, `deviation`,
`lay_out_lines`, `take_cheapest`, `try_batch`, `search_adaptively`, `search_grid`, `search_circle` and
`choose_by_sampling`. Collisions are found by solving the quadratic for the time and by looking where the
agent then is, not by the kernels' division-free forms.
"""

import math
from dataclasses import dataclass, field

INFINITY, IMPACT = math.inf, 1.0001
GAP, NEAR, GRAZE, WALL_GAP, STRAIGHT, WIDER, TINY = 0.02, 0.2, 1.00001, 1e-3, 0.01, 1e-3, 1e-12
RINGS = [(1.0, k / 8) for k in range(8)] + [(0.5, (k + 0.5) / 8) for k in range(8)]


@dataclass
class Numbers:
    """The parameters of a sampling model."""

    samples: int = 64
    weight_preferred: float = 2.0
    weight_current: float = 0.75
    weight_side: float = 0.75
    weight_time_to_collision: float = 2.5
    softening: float = 0.1
    side: float = 1.0
    horizon_share_behind: float = 0.4
    jam_distance: float = 2.25
    time_horizon: float = 2.5
    time_horizon_walls: float = 0.5


@dataclass
class Disc:
    """Somebody, or the end of a wall, as a disc that grows by the agent's radius."""

    centre: tuple
    reach: float
    horizon: float
    apex: tuple = (0.0, 0.0)
    share: float = 1.0
    entity: int = -1
    keep_off: float = 0.0  # +1: the left is the wrong side
    near: float = 0.0

    @property
    def clearance(self):
        return max(
            (self.centre[0] ** 2 + self.centre[1] ** 2 - self.reach**2) * GRAZE, GAP * self.reach**2 + TINY
        )

    def relative(self, v):
        return (v[0] - self.apex[0]) / self.share, (v[1] - self.apex[1]) / self.share

    def impact(self, v):
        """Time at which the edge of the disc, kept off by the gap, is reached, infinite if never;
        who is near counts as if a little farther away.
        """
        w = self.relative(v)
        a, b = w[0] ** 2 + w[1] ** 2, self.centre[0] * w[0] + self.centre[1] * w[1]
        inside = b * b - a * self.clearance
        if inside <= 0.0 or b <= 0.0:
            return INFINITY
        return (
            (b - math.sqrt(inside))
            / a
            * max(self.clearance, self.near * self.reach**2 + TINY)
            / self.clearance
        )

    def aside(self, v, speed):
        """0..1: how far a velocity goes off the side to keep to."""
        distance, w = math.hypot(*self.centre), self.relative(v)
        if distance == 0.0:
            return 0.0
        ahead = (self.centre[0] / distance, self.centre[1] / distance)
        closing = (ahead[0] * w[0] + ahead[1] * w[1]) / speed
        left = (ahead[0] * w[1] - ahead[1] * w[0]) / speed
        return min(max(min(0.5 + 0.5 * closing, 2.0 * left * self.keep_off), 0.0), 1.0)


@dataclass
class Slab:
    """The side of a wall, seen from its free side: left end, right end, and the body's radius."""

    left: tuple
    right: tuple
    radius: float
    horizon: float
    entity: int = -1

    @property
    def normal(self):
        length = math.dist(self.left, self.right)
        return (self.right[1] - self.left[1]) / length, (self.left[0] - self.right[0]) / length

    @property
    def gap(self):
        n = self.normal
        return max(-(n[0] * self.left[0] + n[1] * self.left[1]) - self.radius, 0.0)

    def impact(self, v):
        """Time at which the body touches the side between the wall's ends;
        a gap of a millimetre at least is taken to be left.
        """
        n, along = self.normal, (-self.normal[1], self.normal[0])
        approach = -(n[0] * v[0] + n[1] * v[1])
        if approach <= 0.0:
            return INFINITY
        t = self.gap / approach
        foot = (along[0] * v[0] + along[1] * v[1]) * t
        ends = [along[0] * end[0] + along[1] * end[1] for end in (self.left, self.right)]
        return max(self.gap, WALL_GAP) / approach if min(ends) <= foot <= max(ends) else INFINITY


@dataclass
class State:
    """What one agent sees."""

    numbers: Numbers
    wish: tuple
    velocity: tuple
    speed: float
    neighbours: list = field(default_factory=list)
    ends: list = field(default_factory=list)
    slabs: list = field(default_factory=list)

    def urgency(self, v):
        """Greatest time horizon over time of impact, 1 at least, and what is run into."""
        soonest = [
            (thing.horizon / thing.impact(v) if thing.impact(v) > 0.0 else INFINITY, number)
            for number, thing in enumerate(self.things)
        ]
        most, which = max(soonest, key=lambda found: (found[0], -found[1]), default=(0.0, None))
        return (most, self.things[which]) if most > IMPACT else (max(most, 1.0), None)

    @property
    def things(self):
        return [*self.neighbours, *self.ends, *self.slabs]

    def deviation(self, v):
        numbers = self.numbers
        return (
            numbers.weight_preferred * math.dist(v, self.wish)
            + numbers.weight_current * math.dist(v, self.velocity)
        ) / self.speed

    @property
    def no_impact(self):
        return self.numbers.weight_time_to_collision / (1.0 + self.numbers.softening)

    def penalty(self, v):
        z = self.urgency(v)[0]
        side = sum(other.aside(v, self.speed) for other in self.neighbours) / max(1, len(self.neighbours))
        return (
            self.deviation(v)
            + self.numbers.weight_side * side
            + self.numbers.weight_time_to_collision * z / (1.0 + self.numbers.softening * z)
        )

    def permits(self, v):
        return v[0] ** 2 + v[1] ** 2 <= self.speed**2 * (1.0 + 1e-6)

    @property
    def heading(self):
        for v in (self.wish, self.velocity):
            if v != (0.0, 0.0):
                return v[0] / math.hypot(*v), v[1] / math.hypot(*v)
        return 1.0, 0.0


def mixed(v, w, share):
    """The velocity from which a share of the change is still to do."""
    return v[0] + share * (w[0] - v[0]), v[1] + share * (w[1] - v[1])


def held(velocity, wish):
    """The share of the speed wanted, in the direction wanted, that is lacking."""
    square = wish[0] ** 2 + wish[1] ** 2
    return (
        min(max(1.0 - (velocity[0] * wish[0] + velocity[1] * wish[1]) / square, 0.0), 1.0)
        if square > 0.0
        else 0.0
    )


def disc_of_agent(agent, other, numbers):
    """`agent`, `other`: dicts with entity, position, velocity, preferred (both not faster than allowed),
    radius, active.
    """
    centre = (other["position"][0] - agent["position"][0], other["position"][1] - agent["position"][1])
    stands = not other["active"]
    velocity, preferred = ((0.0, 0.0), (0.0, 0.0)) if stands else (other["velocity"], other["preferred"])
    share = 1.0 if stands else 0.5
    distance = math.hypot(*centre)
    ahead = (centre[0] / distance, centre[1] / distance) if distance > 0.0 else (0.0, 0.0)
    # How the other one drifts across the line of sight if both do as they prefer: > 0 to the left.
    drift = (
        ahead[0] * (preferred[1] - agent["preferred"][1]) - ahead[1] * (preferred[0] - agent["preferred"][0])
    ) / agent["speed"]
    keep_off = numbers.side if drift * numbers.side > -STRAIGHT else -numbers.side
    wish = math.hypot(*agent["preferred"])
    # cosine
    backwards = (
        -(ahead[0] * agent["preferred"][0] + ahead[1] * agent["preferred"][1]) / wish if wish > 0.0 else 0.0
    )
    horizon = numbers.time_horizon * (
        1.0 - (1.0 - numbers.horizon_share_behind) * min(max(backwards / 0.5, 0.0), 1.0)
    )
    apex = mixed(agent["velocity"], velocity, share)
    others_wish = math.hypot(*preferred)
    alike = (
        max(
            0.0,
            (agent["preferred"][0] * preferred[0] + agent["preferred"][1] * preferred[1])
            / (wish * others_wish),
        )
        if wish * others_wish > 0.0
        else 0.0
    )
    near = NEAR + max(numbers.jam_distance**2 - 1.0 - NEAR, 0.0) * alike * held(
        agent["velocity"], agent["preferred"]
    ) * held(velocity, preferred)
    return Disc(
        centre, agent["radius"] + other["radius"], horizon, apex, share, other["entity"], keep_off, near
    )


def state_of(agent, near, walls, seen, numbers):
    """What `agent` sees: its neighbours (dicts, nearest first), and of `walls` those of the list `seen`
    (nearest first).
    """
    state = State(
        numbers,
        agent["preferred"],
        agent["velocity"],
        agent["speed"],
        [disc_of_agent(agent, other, numbers) for other in near],
    )
    for wall in seen:
        left, right = (tuple(end[wall] - agent["position"]) for end in (walls.end, walls.start))
        state.slabs.append(Slab(left, right, agent["radius"], numbers.time_horizon_walls))
        follows = int(walls.next[wall])
        ends = [(left, follows < 0 or walls.is_corner[follows]), (right, walls.is_corner[wall])]
        for point, sticks_out in ends if numbers.side > 0.0 else reversed(ends):
            if sticks_out and all(math.dist(point, end.centre) > 1e-9 for end in state.ends):
                state.ends.append(Disc(point, agent["radius"], numbers.time_horizon_walls))
    return state


def lines_of(state):
    """(point, direction, least place) of legs, the preferred side's first, and of walls' horizon lines."""
    lines = []
    discs = [*state.neighbours, *state.ends][:16]
    for sign in (-state.numbers.side, state.numbers.side):
        for disc in discs:
            square = disc.centre[0] ** 2 + disc.centre[1] ** 2
            if square <= disc.clearance:  # on top of each other: no cone
                lines.append(None)
                continue
            sine = math.sqrt((square - disc.clearance) / square) * (1.0 + WIDER)
            cosine = math.sqrt(1.0 - sine * sine)
            x, y = disc.centre[0] / math.sqrt(square), disc.centre[1] / math.sqrt(square)
            lines.append((disc.apex, (x * cosine - sign * y * sine, sign * x * sine + y * cosine), 0.0))
    for slab in state.slabs[:8]:
        n = slab.normal
        away = -slab.gap / slab.horizon
        lines.append(((n[0] * away, n[1] * away), (-n[1], n[0]), -INFINITY))
    return lines


def feet_of(state, lines):
    """Points of lines nearest to the preferred velocity, then apices."""
    feet = []
    for line in lines:
        if line is None:
            continue
        point, direction, least = line
        place = (state.wish[0] - point[0]) * direction[0] + (state.wish[1] - point[1]) * direction[1]
        if place > least:
            feet.append((point[0] + place * direction[0], point[1] + place * direction[1]))
    return feet + [disc.apex for disc in state.neighbours[:16]]


def crossings_of(lines):
    found = []
    for i, first in enumerate(lines):
        for second in lines[i + 1 :]:
            if first is None or second is None:
                continue
            (p, u, begins), (q, v, other_begins) = first, second
            sine = u[0] * v[1] - u[1] * v[0]
            if abs(sine) <= 1e-4:
                continue
            own = ((q[0] - p[0]) * v[1] - (q[1] - p[1]) * v[0]) / sine
            other = ((q[0] - p[0]) * u[1] - (q[1] - p[1]) * u[0]) / sine
            if own > begins and other > other_begins:
                found.append((p[0] + own * u[0], p[1] + own * u[1]))
    return found


def take_cheapest(costs, wanted, limit):
    """Numbers of the cheapest that cost less than `limit`: about `wanted`, never more;
    struck off `costs` (a list) by making them infinite.
    """
    cheapest = min(costs, default=INFINITY)
    if cheapest >= limit or wanted == 0:
        return []
    low, high = cheapest, limit
    below = lambda cost: sum(c < cost for c in costs)  # noqa: E731
    if below(high) > wanted:
        for _ in range(12):
            middle = low + (high - low) * 0.5
            found = below(middle)
            if found > wanted:
                high = middle
            else:
                low = middle
                if found + 2 >= wanted:
                    break
        high = low if below(low) > 0 else high
    taken = [number for number, cost in enumerate(costs) if cost < high][:wanted]
    for number in taken:
        costs[number] = INFINITY
    return taken


class Search:
    """Tries velocities; remembers the best and how many were tried."""

    def __init__(self, state):
        self.state, self.best, self.velocity, self.used, self.is_wish = state, INFINITY, (0.0, 0.0), 0, False

    def try_all(self, velocities, has_wish=False):
        """Try up to sixteen; return the number of the one that is the new best, or None.
        All are measured against the best before.
        """
        state = self.state
        limit = self.best - state.no_impact
        tried = [
            number for number, v in enumerate(velocities) if state.permits(v) and state.deviation(v) < limit
        ]
        self.used += len(tried)
        penalties = [(state.penalty(velocities[number]), number) for number in tried]
        if not penalties or min(penalties)[0] >= self.best:
            return None
        self.best, number = min(penalties)
        self.velocity, self.is_wish = velocities[number], has_wish and number == 0
        return number


def search_adaptively(state):
    search, samples = Search(state), state.numbers.samples
    lines = lines_of(state)
    seeds = [v for v in feet_of(state, lines) if state.permits(v)]
    costs = [state.deviation(v) for v in seeds]
    dearest = 4.0 * (state.numbers.weight_preferred + state.numbers.weight_current) + 1e-3
    first = [seeds[number] for number in take_cheapest(costs, 13, dearest)]
    search.try_all([state.wish, state.velocity, (0.0, 0.0), *first], has_wish=True)
    floor = (
        state.no_impact
        + min(state.numbers.weight_preferred, state.numbers.weight_current)
        * math.dist(state.wish, state.velocity)
        / state.speed
    )
    if search.best <= floor * 1.005:
        return search
    limit = search.best - state.no_impact
    more = [v for v in crossings_of(lines) if state.permits(v) and state.deviation(v) < limit]
    seeds, costs = seeds + more, costs + [state.deviation(v) for v in more]
    share = int(samples * 0.75)
    while search.used < share:
        taken = take_cheapest(costs, min(16, share - search.used), search.best - state.no_impact)
        if not taken:
            break
        search.try_all([seeds[number] for number in taken])
    step = 0.12 * state.speed
    while search.used < samples and step > 1e-3 * state.speed:
        here = search.velocity
        away = (state.wish[0] - here[0], state.wish[1] - here[1])
        e = (
            state.heading
            if away == (0.0, 0.0)
            else (away[0] / math.hypot(*away), away[1] / math.hypot(*away))
        )
        ring = [turned(e, turn, state.numbers.side, radius * step) for radius, turn in RINGS]
        search.try_all([(here[0] + x, here[1] + y) for x, y in ring][: samples - search.used])
        step *= 0.25
    return search


def turned(v, turn, side, factor=1.0):
    """A vector turned by a part of a full turn, to the left where `side` is +1."""
    c, s = math.cos(2.0 * math.pi * turn), side * math.sin(2.0 * math.pi * turn)
    return (v[0] * c - v[1] * s) * factor, (v[1] * c + v[0] * s) * factor


def search_grid(state, size):
    """The preferred velocity, then every velocity of the grid; `used` counts all that are not too fast."""
    search, e, half = Search(state), state.heading, size // 2
    search.try_all([state.wish], has_wish=True)
    for line in range(-half, half + 1):
        for place in range(-half, half + 1):
            a, b = place * state.speed / half, line * state.speed / half * state.numbers.side
            search.try_all([(a * e[0] - b * e[1], a * e[1] + b * e[0])])
    return search


def search_circle(state, count):
    search = Search(state)
    for first in range(0, count, 16):
        search.try_all(
            [turned(state.wish, k / count, state.numbers.side) for k in range(first, first + 16)],
            has_wish=first == 0,
        )
    search.try_all([(0.0, 0.0)])
    return search


def judged(state, search, tick):
    """(diagnosis, blocker): as in crowdsim.avoidance.model."""
    urgency, thing = state.urgency(search.velocity)
    if thing is not None:
        ends_up = thing.entity < 0 and urgency > state.numbers.time_horizon_walls / tick
        return (3 if ends_up else 2), thing.entity
    if not search.is_wish:
        thing = state.urgency(state.wish)[1]
        if thing is not None:
            return 1, thing.entity
    return 1, 0
