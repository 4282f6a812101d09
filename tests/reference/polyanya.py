"""Twin of Polyanya: the visibility graph, which knows nothing of meshes.

Kernels: begin_polyanya, advance_polyanya, polyanya_size, copy_polyanya, serve_interval_slots, limit_at,
aside, signed_radius, path_to_disc, limit_on_edge, least_path_to_edge, least_path_through, disc_radius,
mirrored, bends_before, is_reached_sooner, note_bend, push, offer, least_bound, take_next, portal_at,
side_after, part_of_portal. None is done step by step: what they make together is the shortest path, and that
has a definition of its own. For points it is `tests.reference.funnel.Visibility`; for agents the same on the
ground eroded by the radius.
"""

import math

from tests.reference.funnel import Visibility

QUARTER_SEGMENTS = 6  # Chords of a quarter circle round a corner of the eroded ground.


def of_point(ground):
    """The visibility graph for points."""
    return Visibility(ground)


def of_agent(ground, radius):
    """The visibility graph for the centre of an agent.
    Its chords cut the discs round corners, so its paths are too short by `chord_error` at most.
    """
    return Visibility(ground.buffer(-radius, quad_segs=QUARTER_SEGMENTS))


def of_wider_agent(ground, radius):
    """The same for chords outside the discs: its paths keep their distance,
    so the shortest of all is no longer than they are.
    """
    return Visibility(
        ground.buffer(-radius / math.cos(0.25 * math.pi / QUARTER_SEGMENTS), quad_segs=QUARTER_SEGMENTS)
    )


def chord_error(radius, turning):
    """How much (m) paths over chords may be shorter than over arcs, which turn by an angle (radians) in all.

    A chord is shorter than its arc by a share of angle**2 / 24, and a tangent may leave the arc half a chord
    before or behind a vertex, where it cuts the disc by r (1 - cos(angle / 2)); both ends of every arc may
    gain as much.
    """
    angle = 0.5 * math.pi / QUARTER_SEGMENTS
    return radius * (
        turning * angle**2 / 24.0 + (turning / angle + 2.0) * (math.tan(angle / 2.0) - angle / 2.0) * 2.0
    )
