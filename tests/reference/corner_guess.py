"""Twin of guesses over the visibility graph and of joining them with the path that was found ([Norberg 2004],
sections 3.1 and 3.2), with shapely and lists.

Kernels: next_corner, join_over_corners.
"""

import itertools
import math

import numpy as np
import shapely

from tests.reference.visibility import TOUCH, _tangent, bends, corners_and_walls


class Graph:
    """Corners of some ground, and whether agents of a radius can go straight between them."""

    def __init__(self, ground, radius):
        # else what comes out lies on the grid of the ground
        self.ground, self.radius = shapely.set_precision(ground, 0.0), radius
        self.walls = self.ground.boundary
        self.corners = dict(corners_and_walls(ground))
        shapely.prepare(self.walls)

    def is_free(self, a, b):
        line = shapely.LineString([a, b])
        if self.radius == 0.0:
            return self.ground.covers(line) or shapely.difference(line, self.ground).length < 1e-6
        return self.ground.covers(line) and not shapely.dwithin(line, self.walls, self.radius - TOUCH)

    def directions(self, here, corner):
        """Unit directions of the straight lines to a corner, on either side of it:
        from a point, or from a corner, where the path bends at both.
        """
        for side in (1, -1):
            for own in (1, -1) if here in self.corners else (0,):
                line = _tangent((*here, own * self.radius), (*corner, side * self.radius))
                if line is None:
                    continue
                if own:
                    bend = bends(
                        (self.corners[here], self.corners[corner]), here, corner, (own, side), self.radius
                    )
                else:
                    left = np.array([-line[2][1], line[2][0]])
                    bend = all(-side * float(left @ wall) <= 1e-9 for wall in self.corners[corner])
                if bend and self.is_free(*line[:2]):
                    yield np.asarray(line[2])

    def sees_goal(self, here, goal):
        """Whether an agent can go straight to a point, from a point or from beside a corner."""
        sides = (1, -1) if here in self.corners and self.radius > 0.0 else (0,)
        lines = [_tangent((*here, side * self.radius), (*goal, 0.0)) for side in sides]
        return any(line is not None and self.is_free(*line[:2]) for line in lines)

    def next_corner(self, position, goal, at, visited):
        """The corner of the greatest dot product; "goal" where that is in reach,
        None where all were visited.
        """
        if self.is_free(position, goal):
            return "goal"
        ahead = np.subtract(goal, position)
        scores = [
            (float(direction @ ahead), corner)
            for corner in self.corners
            if corner not in visited and corner != at
            for direction in self.directions(position if at is None else at, corner)
        ]
        return max(scores)[1] if scores else None

    def join(self, position, visited, found, goal, shortens=True):
        """The vertices of the joined path from where the agent is, the goal last;
        None where it leads back to where the search began.

        With `shortens` false it goes over to the first vertex of the found path only, unless it has been at
        another.
        """
        path = [*found, "goal"]  # P without its first vertex, the start
        for i, here in enumerate([position, *reversed(visited)]):
            for j, there in reversed(list(enumerate(path))):
                walked = [*itertools.islice(reversed(visited), i)]
                if there == here:
                    return [*walked, *path[j + 1 :]]
                if j > 0 and not shortens:
                    continue
                if (
                    self.sees_goal(here, goal)
                    if there == "goal"
                    else any(True for _ in self.directions(here, there))
                ):
                    return [*walked, *path[j:]]
        return None


def length(points):
    """Length of a row of points."""
    return sum(math.dist(a, b) for a, b in itertools.pairwise(points))
