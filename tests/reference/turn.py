"""Twin of turning to where one goes ([Pathfinding undated], section 7), one agent at a time.

Kernel: turn_headings.
"""

import math

from tests.reference.directions import turned


def heading_after(heading, velocity, walks, most, least):
    """The heading of an agent after a tick in which it may turn by `most` (rad)."""
    if not walks or math.hypot(*velocity) < least:
        return tuple(heading)
    return turned(heading, velocity, most)
