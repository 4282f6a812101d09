"""A planner of one's own: it goes straight on, from polygon to polygon, or not at all."""

from dataclasses import dataclass

from crowdsim.navigation.planning.plain_planner import Path, PlainPlanner
from crowdsim.navigation.planning.registry import register_planner
from crowdsim.tunable import param


@register_planner
class StraightLine(PlainPlanner):
    """Lead agents along the straight line to the nearest piece of their goal that it comes to."""

    name = "straight-line"

    @dataclass(frozen=True)
    class Parameters:
        """What can be tuned; `crowdsim parameters navigation.straight-line --plugin straight_line.py` shows
        it.
        """

        farthest: float = param(
            1000.0,
            "m",
            above=0.0,
            high=1e5,
            why="length of line from which on none is tried; larger searches for longer",
        )

    def search(self, request):
        """Try the pieces of the goal, the nearest first; every polygon on the line is an expansion."""
        for _, piece in sorted(
            (self._distance(request, piece), piece) for piece in self.pieces(request.goal)
        ):
            if self._distance(request, piece) > self.parameters.farthest:
                return None
            here, portals = request.polygon, []
            while here != self.goals.piece_polygon[piece]:
                yield
                edge = self._edge_towards(here, request, *self.target[piece])
                if (
                    edge < 0
                    or self.mesh.edge_twin[edge] < 0
                    or self.mesh.edge_width[edge] < 2.0 * request.radius
                    or len(portals) > self.mesh.edge_count
                ):
                    break  # a wall, a gap that is too narrow
                portals.append(edge)
                here = int(self.mesh.edge_polygon[self.mesh.edge_twin[edge]])
            else:
                return Path(piece, portals)
        return None

    def _distance(self, request, piece):
        x, y = self.target[piece]
        return ((x - request.x) ** 2 + (y - request.y) ** 2) ** 0.5

    def _edge_towards(self, polygon, request, to_x, to_y):
        """Return the half-edge through which the line leaves a polygon;
        -1 where it does not pass through it.
        """
        mesh, dx, dy = self.mesh, to_x - request.x, to_y - request.y
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            (ax, ay), (bx, by) = mesh.vertex[mesh.edge_vertex[edge], :2], mesh.vertex[mesh.edge_end[edge], :2]
            # polygons are listed anticlockwise: their outside lies on the right of an edge
            outward = dx * (by - ay) - dy * (bx - ax)
            if outward > 0.0 and 0.0 <= (ax - request.x) * dy - (ay - request.y) * dx <= outward:
                return edge
        return -1
