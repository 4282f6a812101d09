"""Twin of guesses over cells and of joining them with the path that was found ([Norberg 2004],
sections 3.1 and 3.2), with sets and lists.

Kernels: list_patch, is_dead_end, choose_cell, guess_over_cells, join_over_cells. Cells are (column, row);
`barred` holds steps, (cell, (dx, dy)), that lead over walls.
"""

import itertools
import math

import numpy as np

from tests.reference.grid_search import steps_from
from tests.reference.grid_sight import pulled

VIEW_M, SIDE_ROOM, SIDE_BLOCKS = 1.0, 8, 4


def block(cell, side):
    """The square block that a cell lies in."""
    return cell[0] // side, cell[1] // side


def patch_of(walkable, barred, cell, side):
    """The cells of the cell's block that can be come to from it without leaving the block."""
    found, left = {cell}, [cell]
    while left:
        here = left.pop()
        new = [
            there
            for there, _ in steps_from(walkable, here, barred=barred)
            if there not in found and block(there, side) == block(cell, side)
        ]
        found.update(new)
        left += new
    return frozenset(found)


def choices(walkable, barred, patch, side):
    """The cells beside a patch, in other blocks, to which a step leads from it."""
    steps = {there for cell in patch for there, _ in steps_from(walkable, cell, barred=barred)}
    return steps - patch


class Walk:
    """What one agent does on a guess: it goes from patch to patch, deepest first,
    and back where there is no other.
    """

    def __init__(self, walkable, barred, side, centre, goals):
        """`centre` gives a cell's place (m), `goals` is a list of (place, cell)."""
        self.walkable, self.barred, self.side, self.centre, self.goals = walkable, barred, side, centre, goals
        # the patches from the first one to where it is; all that are out of question
        self.row, self.out = [], set()

    def enter(self, cell):
        """Come to a patch: a new one, or the one before."""
        patch = patch_of(self.walkable, self.barred, cell, self.side)
        if len(self.row) > 1 and self.row[-2] == patch:
            self.row.pop()
        else:
            assert patch not in self.out
            self.row.append(patch)
            self.out.add(patch)

    def beyond(self, patch):
        """The patches beside one."""
        return {
            patch_of(self.walkable, self.barred, cell, self.side)
            for cell in choices(self.walkable, self.barred, patch, self.side)
        }

    def is_dead_end(self, patch):
        """Whether it leads on to so few patches that one sees them all, and the goal is in none;
        what can be gone to at once does not count.
        """
        room, left, at_once = {patch}, [patch], self.beyond(self.row[-1])
        while left and len(room) <= SIDE_ROOM:
            new = self.beyond(left.pop()) - self.out - at_once - room
            room |= new
            left += new
        is_small = len(room) <= SIDE_ROOM and sum(map(len, room)) <= SIDE_BLOCKS * self.side**2
        return is_small and not any(cell in each for each in room for _, cell in self.goals)

    def choose(self, x, y):
        """("goal", its cell), ("on", cell), ("back", None) or ("stay", None)."""
        patch = self.row[-1]
        for _, cell in self.goals:
            if cell in patch:
                return "goal", cell

        def left(px, py):
            return min(float(np.hypot(gx - px, gy - py)) for (gx, gy), _ in self.goals)

        scores = []
        for cell in choices(self.walkable, self.barred, patch, self.side):
            px, py = self.centre(cell)
            there = patch_of(self.walkable, self.barred, cell, self.side)
            if there not in self.out and not self.is_dead_end(there):
                scores.append(
                    (
                        -(left(x, y) - left(px, py)) / max(float(np.hypot(px - x, py - y)), 1e-6),
                        cell[1],
                        cell[0],
                    )
                )
        if scores:
            return "on", min(scores)[:0:-1]
        return ("back", None) if len(self.row) > 1 else ("stay", None)


def join(position, trail, begin, path, sees):
    """The path from where an agent is, over the first place of its trail that sees some of the path,
    to what is nearest to its end of what that sees.

    `trail` holds the places back to where the search began, the agent's own first, all as far apart as is
    looked from; the last one always counts.
    """
    points = []
    for leg, (a, b) in reversed(list(enumerate(itertools.pairwise([begin, *path])))):
        parts = max(1, math.ceil(math.dist(a, b) / VIEW_M))
        points += [
            (
                leg,
                (a[0] + (b[0] - a[0]) * (part / parts), a[1] + (b[1] - a[1]) * (part / parts)),
                part == parts,
            )
            for part in range(parts, 0, -1)
        ]
    for view, place in enumerate(trail):
        for leg, point, is_end in points:
            if sees(place, point):
                return view, [*([] if is_end else [point]), *path[leg:]]
    return len(trail) - 1, list(path)


def taut(places, sees):
    """A row of places pulled taut, without the first."""
    return pulled(places, sees)[1:]
