"""Breaking symmetries that no reciprocal model can leave by itself.

Where two agents walk at each other's very centre, or a whole circle of them does, each does what the mirror
image does, and all come to a stop for good. People decide at random; here a seeded turn of the preferred
velocity decides, before the model acts, and it is counted. It touches no other agent: one without a
neighbour ahead is never touched.

Nor can they stop a retreat by themselves. Of two that meet, each yields by half from the velocity that it
*has*: so any common velocity of the two is as good as any other, and an agent that once stepped back before
an oncoming file keeps on going back at the pace of that file, for as long as it lasts. People come to a
stand. Here an agent that has gone back for 0.4 s before an oncoming one that gets on shows, to all and to
itself, that it goes back more slowly than it does (`hold_ground`); half by half the other one makes the rest
of the room, and the retreat fades. That goes on where a wall binds it since. Any velocities may be shown, as
long as all see the same ([van den Berg 2011], section 5.2). A step back is left alone: crowds that meet sort
themselves by such steps. Before an agent that does not get on either none holds its ground: where neither of
two crowds makes room, both stand for good.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.simd import prefetch
from crowdsim.kernels.threads import Team
from crowdsim.saved import MOST, Arrays, Saved, ascends
from crowdsim.tunable import param

UNTOUCHED = 0
EXACT = 1  # on an exact collision course with the neighbour that binds it
MUTUAL = 2  # one of a ring of agents that hold each other fast

# Sine of the angle between the line to a neighbour and the relative velocity below which a course is exact.
# Random crowds are at 1e-3.
EXACT_SINE = 1e-6
# Share of an agent's preferred speed that two must close in at, at least, for their course to have a
# direction.
LEAST_CLOSING = 1e-2
# Agents that may hold each other fast in a ring; longer chains have always been found to contain shorter
# ones.
LONGEST_RING = 16
AT_WALL = -1  # The blocker of an agent whose velocity a wall bound.
GETS_ON = 0.5  # Share of the preferred speed, along the preferred direction, from which on an agent gets on.
# Cosine of the angle between wishes from which on two come towards each other: 60 degrees at most from
# head-on.
OPPOSITE = 0.5
# Fractions of multiples of this fill 0..1 evenly: each time an agent is touched it gets another draw.
_GOLDEN = 0.6180339887498949
_SILVER = 0.41421356237309515  # The same for how long it turns, so that the two draws have nothing in common.
# Two that press in a doorway turn for times between these shares of a turn: where both come back at once,
# both are where they were.
SHORTEST_TURN, LONGEST_TURN = 0.5, 2.0


# Rows ahead whose blockers are fetched: they lie anywhere in memory.
_AHEAD = 8


class _Rows(NamedTuple):
    """Where entities are.

    Attributes
    ----------
    entity : (n,) int64
        Ascending.
    row_of : (t,) int32
        As `number_rows` writes it.
    """

    entity: NDArray[np.int64]
    row_of: NDArray[np.int32]


class _Memory(NamedTuple):
    """What is remembered of each agent, by row.

    Attributes
    ----------
    blocked : (n,) int32, ticks
        How long it has wanted to move and hardly moved.
    stalled : (n,) int32, ticks
        For how many ticks more than not it has got on by less than half of what it wants, up to twice the
        time that counts.
    holder : (n,) int64
        Entity that has held it up last, also while a wall binds it since; 0 is none.
    retreating : (n,) int32, ticks
        For how many ticks more than not it has gone back, up to twice the time that counts.
    pressed : (n,) int32, ticks
        As `blocked`, counted on while a wall binds it since.
    turning : (n,) int32, ticks
        How long its present turn still lasts.
    side : (n,) int32
        To which side it turned last since it has been pressed: 1 the declared one, 2 the other; 0 not yet.
    events : (n,) int32
        How often it was touched anew.
    """

    blocked: NDArray[np.int32]
    stalled: NDArray[np.int32]
    retreating: NDArray[np.int32]
    holder: NDArray[np.int64]
    pressed: NDArray[np.int32]
    turning: NDArray[np.int32]
    side: NDArray[np.int32]
    events: NDArray[np.int32]


_NO_ROWS = np.empty(0, dtype=np.int64)
_HIGHEST = {"holder": MOST, "side": 2}
_KINDS = {name: "i8" if name == "holder" else "i4" for name in _Memory._fields}


class Touched(NamedTuple):
    """How many agents were turned in a tick, by cause."""

    exact: int
    mutual: int


@lean_kernel
def number_rows(entity, row_of):
    """Write the row of each entity from the first on, (t,) int32, -1 for those that are not there; entities
    beyond the table are left out. Twin: `tests/reference/symmetry.py`.
    """
    row_of[:] = -1
    for row in range(entity.size):
        place = entity[row] - entity[0]
        if place >= row_of.size:  # they ascend
            break
        row_of[place] = row


@inlined_kernel
def _row_of(rows, wanted):
    """Return the row of an entity, -1 if it is not there."""
    entity, row_of = rows
    if entity.size == 0 or wanted < entity[0]:
        return -1
    place = wanted - entity[0]
    if place < row_of.size:
        return np.int64(row_of[place])
    low, high = 0, entity.size
    while low < high:
        middle = (low + high) // 2
        if entity[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < entity.size and entity[low] == wanted else -1


@inlined_kernel
def _fetch_ahead(rows, row, stop, blocker, position, preferred_velocity):
    """Have the processor fetch where the blockers of agents are whose turn comes soon, and what is read of
    the blockers of those whose turn comes sooner.
    """
    entity, row_of = rows
    place = blocker[min(row + 2 * _AHEAD, stop - 1)] - entity[0]
    if 0 <= place < row_of.size:
        prefetch(row_of, np.uint64(place))
    place = blocker[min(row + _AHEAD, stop - 1)] - entity[0]
    if 0 <= place < row_of.size:
        other = np.uint64(max(row_of[place], 0))
        prefetch(position, other + other)
        prefetch(preferred_velocity, other + other)


@lean_kernel
def carry_over(start, stop, rows, entity, old, new):
    """Write the memory of agents that were there before to their new rows.

    Parameters
    ----------
    start, stop : int
        Range of new rows.
    rows : _Rows
        Where they were.
    entity : (n,) int64
        Those that are there now.
    old, new : _Memory
        In `new` others have zeros.

    Notes
    -----
    Twin: `tests/reference/symmetry.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        known = _row_of(rows, entity[row])
        if known >= 0:
            new.blocked[row], new.stalled[row] = old.blocked[known], old.stalled[known]
            new.holder[row], new.retreating[row] = old.holder[known], old.retreating[known]
            new.pressed[row], new.turning[row] = old.pressed[known], old.turning[known]
            new.side[row], new.events[row] = old.side[known], old.events[known]
        else:
            new.blocked[row], new.stalled[row], new.holder[row], new.retreating[row] = 0, 0, 0, 0
            new.pressed[row], new.turning[row], new.side[row], new.events[row] = 0, 0, 0, 0


@kernel
def follow_progress(
    start, stop, walked_velocity, preferred_velocity, active, blocker, slow, longest, old, new
):
    """Count for how many ticks agents have been held up by others, for how many they have not got on,
    and for how many they have gone back.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    walked_velocity, preferred_velocity : (n, 2) float64, m/s
        What the agent moved by in the last tick, pushes included, and what it wants now. In a press the
        velocity that it chose is often not walked.
    active : (n,) uint8
    blocker : (n,) int64
        Of the last tick: entity that bound the velocity, or -1 or 0.
    slow : float
        Share of the preferred speed, along the preferred direction, below which an agent hardly moves.
    longest : (2,) int64, ticks
        What `stalled` and `retreating` grow to at most.
    old, new : (n,) int32: blocked, stalled, retreating, pressed, and int64, as the fourth: holder
        Memory before and after: `blocked` and `pressed` grow by one or start again at 0, `stalled` and
        `retreating` grow or fall by one.

    Notes
    -----
    An agent that a wall binds is held up by the one that held it up before: pushed back along a wall, it is
    bound by the wall for most of the time. Twin: `tests/reference/symmetry.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        wx, wy = preferred_velocity[row, 0], preferred_velocity[row, 1]
        wish = wx * wx + wy * wy
        along = walked_velocity[row, 0] * wx + walked_velocity[row, 1] * wy
        wants = active[row] != 0 and wish > 0.0
        stands = wants and along < slow * wish
        new[0][row] = old[0][row] + 1 if stands and blocker[row] > 0 else 0
        stalled = old[1][row] + 1 if along < GETS_ON * wish else old[1][row] - 1
        new[1][row] = min(max(stalled, 0), longest[0]) if wants else 0
        retreating = old[2][row] + 1 if along < 0.0 else old[2][row] - 1
        new[2][row] = min(max(retreating, 0), longest[1]) if wants else 0
        holder = blocker[row] if blocker[row] >= 0 else old[3][row]
        new[3][row] = holder if wants else 0
        new[4][row] = old[4][row] + 1 if stands and holder > 0 else 0


@kernel
def turn_away(
    start,
    stop,
    rows,
    position,
    preferred_velocity,
    active,
    blocker,
    progress,
    draws,
    numbers,
    old,
    new,
    out,
    touched,
):
    """Turn the preferred velocities of agents that an exact symmetry or a ring of each other holds,
    or that press against each other where a wall binds one.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    rows : _Rows
    position, preferred_velocity : (n, 2) float64, m and m/s
    active : (n,) uint8
    blocker : (n,) int64
        Of the last tick.
    progress : (n,) arrays, five: blocked, stalled, retreating, holder and pressed
        As `follow_progress` wrote them.
    draws : (n,) float64
        One uniform draw in 0..1 for each agent.
    numbers : (6,) float64
        Least and greatest tangent of half the turn out of an exact course, and out of a ring; ticks that
        agents of a ring must have been blocked; ticks that a turn out of a ring lasts.
    old, new : (n,) int32, three times: turning, side and events
        Memory before and after.
    out : (n, 2) float64, m/s
        Receives the preferred velocities; those of agents not touched bit for bit.
    touched : (n,) uint8
        Receives UNTOUCHED, EXACT or MUTUAL.

    Returns
    -------
    tuple of two int
        How many are EXACT, and MUTUAL.

    Notes
    -----
    The speed is kept; the direction is turned without trigonometry. A positive tangent is a turn to the
    right. With `numbers` of both signs the sides are drawn. Of two that meet in a doorway a post mostly
    binds one, which makes them no ring: so two with contrary wishes count by what held them up last. (Two
    that press side by side into a door are let be: the arch gets on by itself, and turns keep people from
    the door.) Where a wall binds an agent after such a turn, its next one goes to the other side. Twin:
    `tests/reference/symmetry.py`.
    """
    blocked, _, _, holder, pressed = progress
    least_exact, greatest_exact, least_ring, greatest_ring, patience, lasts = numbers
    exact, mutual = 0, 0
    for row in range(np.uint64(start), np.uint64(stop)):
        _fetch_ahead(rows, row, stop, blocker, position, preferred_velocity)
        wx, wy = preferred_velocity[row, 0], preferred_velocity[row, 1]
        out[row, 0], out[row, 1], touched[row] = wx, wy, UNTOUCHED
        turning, side, events = old[0][row], old[1][row], old[2][row]
        if active[row] != 0 and (wx != 0.0 or wy != 0.0):
            if turning > 0:
                turning -= 1
                touched[row] = MUTUAL
            elif blocker[row] > 0:
                other = _row_of(rows, blocker[row])
                if (
                    other >= 0
                    and blocked[row] >= patience
                    and _in_ring(rows, blocker, blocked, patience, row, other)
                ):
                    touched[row], turning, side = MUTUAL, np.int32(lasts) - 1, np.int32(1)
                    events += 1
                elif other >= 0 and _is_exact(position, preferred_velocity, row, other):
                    touched[row] = EXACT
                    events += 1
            if touched[row] == UNTOUCHED and holder[row] > 0 and pressed[row] >= patience:
                other = _row_of(rows, holder[row])
                if (
                    other >= 0
                    and holder[other] == rows.entity[row]
                    and wx * preferred_velocity[other, 0] + wy * preferred_velocity[other, 1] < 0.0
                    and pressed[other] >= patience
                    and (blocker[row] == AT_WALL or blocker[other] == AT_WALL)
                ):
                    touched[row], turning = MUTUAL, _ticks_of_turn(lasts, draws[row], events)
                    side = np.int32(2 if side == 1 and blocker[row] == AT_WALL else 1)
                    events += 1
            if touched[row] != UNTOUCHED:
                draw = draws[row] + events * _GOLDEN
                draw -= np.floor(draw)
                low, high = (
                    (least_exact, greatest_exact) if touched[row] == EXACT else (least_ring, greatest_ring)
                )
                # tangent of half the angle: what is built of it has unit length without a root
                half = low + (high - low) * draw
                half = -half if touched[row] == MUTUAL and side == 2 else half
                cosine, sine = (1.0 - half * half) / (1.0 + half * half), 2.0 * half / (1.0 + half * half)
                out[row, 0], out[row, 1] = wx * cosine + wy * sine, wy * cosine - wx * sine
                exact += touched[row] == EXACT
                mutual += touched[row] == MUTUAL
        else:
            turning = np.int32(0)
        if turning == 0 and pressed[row] == 0:
            side = np.int32(0)
        new[0][row], new[1][row], new[2][row] = turning, side, events
    return exact, mutual


@inlined_kernel
def _ticks_of_turn(lasts, draw, events):
    """Return for how many further ticks an agent turns that presses against another in a doorway."""
    drawn = draw + events * _SILVER
    drawn -= np.floor(drawn)
    return np.int32(lasts * (SHORTEST_TURN + (LONGEST_TURN - SHORTEST_TURN) * drawn))


@inlined_kernel
def _is_exact(position, preferred_velocity, row, other):
    """Tell whether two agents, each going as it prefers, would meet centre on centre."""
    px, py = position[other, 0] - position[row, 0], position[other, 1] - position[row, 1]
    wx, wy = preferred_velocity[row, 0], preferred_velocity[row, 1]
    vx, vy = wx - preferred_velocity[other, 0], wy - preferred_velocity[other, 1]
    cross = px * vy - py * vx
    # side by side or in file: what differs is rounding
    if vx * vx + vy * vy <= LEAST_CLOSING * LEAST_CLOSING * (wx * wx + wy * wy):
        return False
    return px * vx + py * vy > 0.0 and cross * cross <= (EXACT_SINE * EXACT_SINE) * (
        (px * px + py * py) * (vx * vx + vy * vy)
    )


@inlined_kernel
def _in_ring(rows, blocker, blocked, patience, row, other):
    """Tell whether following blockers from `other` on, all of them blocked long enough,
    leads back to `row`.
    """
    for _ in range(LONGEST_RING):
        if other == row:
            return True
        if other < 0 or blocked[other] < patience or blocker[other] <= 0:
            return False
        other = _row_of(rows, blocker[other])
    return False


@inlined_kernel
def _is_opposed(preferred_velocity, row, other):
    """Tell whether the agent of another row wants the opposite direction: 60 degrees at most from head-on."""
    wx, wy, ox, oy = (
        preferred_velocity[row, 0],
        preferred_velocity[row, 1],
        preferred_velocity[other, 0],
        preferred_velocity[other, 1],
    )
    towards = wx * ox + wy * oy
    return towards < 0.0 and towards * towards > OPPOSITE * OPPOSITE * (wx * wx + wy * wy) * (
        ox * ox + oy * oy
    )


@kernel
def hold_ground(
    start,
    stop,
    rows,
    velocity,
    preferred_velocity,
    active,
    blocker,
    stalled,
    retreating,
    holder,
    numbers,
    holds,
):
    """Take part of the retreat out of the velocities of agents that have gone back for long before an
    oncoming one that gets on.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    rows : _Rows
    velocity : (n, 2) float64, m/s
        In: that of the last step. Out: that which is shown; those of agents that hold no ground stay bit for
        bit.
    preferred_velocity : (n, 2) float64, m/s
        What the agent wants now.
    active : (n,) uint8
    blocker : (n,) int64
        Of the last tick.
    stalled, retreating : (n,) int32, ticks
        As `follow_progress` wrote them.
    holder : (n,) int64
        As `follow_progress` wrote it; counts where a wall binds.
    numbers : (3,) float64
        Share of the retreat that stays; ticks of being stalled from which on no agent holds its ground before
        the stalled one; ticks that an agent must have gone back to hold its ground.
    holds : (n,) uint8
        Receives 1 for those that hold their ground.

    Returns
    -------
    int
        How many hold their ground.

    Notes
    -----
    What an agent does across its wish is left alone: it may still step aside. Twin:
    `tests/reference/symmetry.py`.
    """
    kept, patience, after = numbers
    holding = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        vx, vy = velocity[row, 0], velocity[row, 1]
        wx, wy = preferred_velocity[row, 0], preferred_velocity[row, 1]
        holds[row] = 0
        along = vx * wx + vy * wy
        before = blocker[row] if blocker[row] >= 0 else holder[row]
        if active[row] == 0 or along >= 0.0 or before == 0 or retreating[row] < after:
            continue
        other = _row_of(rows, before)
        if other >= 0 and stalled[other] < patience and _is_opposed(preferred_velocity, row, other):
            back = (1.0 - kept) * along / (wx * wx + wy * wy)
            velocity[row, 0], velocity[row, 1], holds[row] = vx - back * wx, vy - back * wy, 1
            holding += 1
    return holding


class SymmetryBreaker:
    """Turns preferred velocities where a symmetry holds agents fast; remembers for how long each was held.

    Parameters
    ----------
    parameters : SymmetryBreaker.Parameters, optional
    """

    @dataclass(frozen=True)
    class Parameters:
        """What can be tuned."""

        side: str = param(
            "right",
            "",
            choices=("right", "left", "random"),
            source="[Mononen 2010], Custom hRVO: agents favour passing each other on the right",
            why=(
                "where all turn to one side they pass; with random sides half of all pairs choose alike and "
                "have to be parted by the model"
            ),
        )
        least_turn: float = param(
            0.1,
            "",
            above=0.0,
            high=1.0,
            source="ours",
            why=(
                "tangent of half the least turn out of an exact course (0.1 is 11 degrees); smaller is "
                "amplified later, and circles jam first"
            ),
        )
        greatest_turn: float = param(
            0.2,
            "",
            above=0.0,
            high=1.0,
            source="ours",
            why=(
                "tangent of half the greatest turn out of an exact course (0.2 is 23 degrees, for one "
                "tick); larger shows as a swerve"
            ),
        )
        patience: float = param(
            1.0,
            "s",
            above=0.0,
            high=60.0,
            source="ours",
            why="how long agents hold each other fast before they turn; shorter disturbs queues that would "
            "clear by themselves: with 0.5, crowds of 30 at a "
            "door take 2 s longer under sampled-hrvo",
        )
        slow: float = param(
            0.1,
            "",
            low=0.0,
            high=1.0,
            source="ours",
            why=(
                "share of the preferred speed below which an agent hardly moves; larger takes slow jams for "
                "deadlocks"
            ),
        )
        least_detour: float = param(
            0.4,
            "",
            above=0.0,
            high=10.0,
            source="ours",
            why=(
                "tangent of half the least turn out of a ring (0.4 is 44 degrees); below that no agent "
                "makes room"
            ),
        )
        greatest_detour: float = param(
            1.6,
            "",
            above=0.0,
            high=10.0,
            source="ours",
            why=(
                "tangent of half the greatest turn out of a ring (1.6 is 116 degrees): an agent must step "
                "back to open it; larger sends agents away"
            ),
        )
        detour_time: float = param(
            0.5,
            "s",
            above=0.0,
            high=60.0,
            source="ours",
            why="how long a turn out of a ring lasts, half to twice of that in a doorway; shorter falls back "
            "into it, longer leads astray",
        )
        retreat_time: float = param(
            0.5,
            "s",
            low=0.0,
            high=3600.0,
            source="ours",
            why="how fast the velocity against its own wish fades that an agent shows before an oncoming "
            "one; longer lets an agent that once yielded be pushed back far (3600: for good, 18 m in the "
            "lane scene), shorter makes crowds that meet in a corridor jam now and then under "
            "sampled-hrvo (0.2: one in eight takes half as long again)",
        )
        retreat_after: float = param(
            0.4,
            "s",
            low=0.0,
            high=60.0,
            source="ours",
            why="for how much longer than not an agent must have gone back before its retreat fades; "
            "shorter holds up crowds that meet, which sort themselves "
            "by steps back, longer lets agents be pushed back farther",
        )
        retreat_patience: float = param(
            0.6,
            "s",
            low=0.0,
            high=60.0,
            source="ours",
            why="for how much longer than not that other one may have got on by less than half of what it "
            "wants; longer jams crowds that meet in a narrow "
            "place, since neither makes room",
        )

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or self.Parameters()
        self._rows = _rows_of(np.empty(0, dtype=np.int64))
        self._memory = _fresh(0)
        self._next = _fresh(0)

    def adjust(
        self,
        entity: NDArray[np.int64],
        position: NDArray[np.float64],
        walked_velocity: NDArray[np.float64],
        preferred_velocity: NDArray[np.float64],
        active: NDArray[np.uint8],
        blocker: NDArray[np.int64],
        draws: NDArray[np.float64],
        tick_length: float,
        team: Team,
        out: NDArray[np.float64],
        touched: NDArray[np.uint8],
    ) -> Touched:
        """Turn the preferred velocities that need it.

        Parameters
        ----------
        entity : (n,) int64
            Ascending; agents may have come and gone since the last call.
        position, walked_velocity, preferred_velocity : (n, 2) float64, m and m/s
            Where agents are, what they moved by in the last tick, pushes included, and what they want now.
        active : (n,) uint8
        blocker : (n,) int64
            `Choice.blocker` of the last tick; 0 for those that have just come.
        draws : (n,) float64
            One uniform draw in 0..1 for each agent, always the same.
        tick_length : float, s
        team : Team
        out : (n, 2) float64, m/s
            Receives the preferred velocities; must not alias them.
        touched : (n,) uint8
            Receives UNTOUCHED, EXACT or MUTUAL.

        Returns
        -------
        Touched
        """
        n = len(entity)
        self._follow(entity, team)
        own, memory, following = self.parameters, self._memory, self._next
        longest, numbers, _ = _numbers(own, tick_length)
        before, after = memory[:5], following[:5]
        team.run(
            follow_progress,
            n,
            walked_velocity,
            preferred_velocity,
            active,
            blocker,
            own.slow,
            longest,
            before,
            after,
        )
        old, new = memory[5:], following[5:]
        found = team.run(
            turn_away,
            n,
            self._rows,
            position,
            preferred_velocity,
            active,
            blocker,
            after,
            draws,
            numbers,
            old,
            new,
            out,
            touched,
        )
        self._memory, self._next = following, memory
        return Touched(sum(exact for exact, _ in found), sum(mutual for _, mutual in found))

    def stand(
        self,
        velocity: NDArray[np.float64],
        preferred_velocity: NDArray[np.float64],
        active: NDArray[np.uint8],
        blocker: NDArray[np.int64],
        tick_length: float,
        team: Team,
    ) -> NDArray[np.int64]:
        """Write the velocities that agents show in place of their own: of a retreat before oncoming agents
        only what has not faded in one tick; see `hold_ground`.

        Rows are those of the last call of `adjust`, in this tick, which has found how they get on.

        Returns
        -------
        (k,) int64
            Rows of those that hold their ground.
        """
        count, memory = len(velocity), self._memory
        holds = np.empty(count, dtype=np.uint8)
        found = team.run(
            hold_ground, count, self._rows, velocity, preferred_velocity, active, blocker, memory.stalled,
            memory.retreating, memory.holder, _numbers(self.parameters, tick_length)[2], holds,
        )  # fmt: skip
        return holds.view(np.bool_).nonzero()[0] if sum(found) else _NO_ROWS

    def _follow(self, entity: NDArray[np.int64], team: Team) -> None:
        """Carry the memory of agents that are still there over to their new rows."""
        if np.array_equal(entity, self._rows.entity):
            return
        memory, rows = _sized(self._next, len(entity)), _rows_of(entity.copy())
        team.run(carry_over, len(entity), self._rows, entity, self._memory, memory)
        self._rows, self._memory, self._next = rows, memory, _sized(self._memory, len(entity))

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return what is remembered, as named arrays."""
        return {
            "entity": self._rows.entity.copy(),
            **{name: array.copy() for name, array in self._memory._asdict().items()},
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        entity = saved.take("entity", "i8", low=1, high=MOST)
        saved.require(ascends(entity), "entity", "entity ids have to ascend")
        self._memory = _Memory(
            *(
                saved.take(name, kind, (len(entity),), low=0, high=_HIGHEST.get(name)).copy()
                for name, kind in _KINDS.items()
            )
        )
        self._rows, self._next = _rows_of(entity), _fresh(len(entity))


@lru_cache(maxsize=16)
def _numbers(
    own: SymmetryBreaker.Parameters, tick_length: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return what `follow_progress`, `turn_away` and `hold_ground` are told of the parameters,
    in ticks of so many seconds.
    """
    # How many ticks an agent must be stalled to count as not getting on, and how many it must go back to hold
    # its ground.
    times = np.ceil(np.array([own.retreat_patience, own.retreat_after]) / tick_length)
    longest = (2.0 * times).astype(np.int64)  # twice, so that it falls as long as it rose
    turns = np.array(
        [*_tangents(own), np.ceil(own.patience / tick_length), np.ceil(own.detour_time / tick_length)]
    )
    return longest, turns, np.array([own.retreat_time / (own.retreat_time + tick_length), *times])


def _tangents(own: SymmetryBreaker.Parameters) -> tuple[float, float, float, float]:
    """Return the ranges of tangents for an exact course and for a ring."""
    if own.side == "random":
        return -own.greatest_turn, own.greatest_turn, -own.greatest_detour, own.greatest_detour
    sign = 1.0 if own.side == "right" else -1.0
    return (
        sign * own.least_turn,
        sign * own.greatest_turn,
        sign * own.least_detour,
        sign * own.greatest_detour,
    )


def _rows_of(entity: NDArray[np.int64]) -> _Rows:
    """Return where entities are. Of ids of which many have left, the last ones are looked for."""
    span = int(entity[-1] - entity[0]) + 1 if len(entity) else 0
    row_of = np.empty(min(span, 2 * len(entity) + 1000), dtype=np.int32)
    number_rows(entity, row_of)
    return _Rows(entity, row_of)


def _sized(memory: _Memory, count: int) -> _Memory:
    """Return so many rows where some of a memory are, or elsewhere if there are not so many: agents leave in
    most ticks, and new arrays come from the system page by page.
    """
    whole: list[NDArray[Any]] = [each if each.base is None else each.base for each in memory]
    if len(whole[0]) < count:
        whole = list(_fresh(2 * count))
    return _Memory(*(each[:count] for each in whole))


def _fresh(count: int) -> _Memory:
    return _Memory(*(np.zeros(count, dtype=kind) for kind in _KINDS.values()))
