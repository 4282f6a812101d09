"""Twin of unit vectors and turns by angles, with sine, cosine and arc tangent.

Kernels: direction_at, turned.
"""

import math


def direction_at(angle):
    """The unit vector at an angle from +x."""
    return math.cos(angle), math.sin(angle)


def turned(heading, towards, most):
    """A heading turned towards a direction by at most an angle; straight back is turned to by the left."""
    facing, wanted = math.atan2(heading[1], heading[0]), math.atan2(towards[1], towards[0])
    difference = math.pi - (math.pi - (wanted - facing)) % (2.0 * math.pi)  # in (-pi, pi]
    return direction_at(wanted if abs(difference) <= most else facing + math.copysign(most, difference))
