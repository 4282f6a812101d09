"""Overlaps from their definition: every frame, every pair. Twin of `crowdsim.measures.contacts.overlaps`."""

import math


def overlaps(tracks, radius, deeper_than):
    """Return (first, second, begin frame, frames, deepest) for each time that two bodies overlapped,
    ascending.
    """
    places = {}
    for person, frame, x, y, z in zip(
        tracks.person.tolist(), tracks.frame.tolist(), tracks.x.tolist(), tracks.y.tolist(), tracks.z.tolist()
    ):
        places.setdefault(frame, {})[person] = (x, y, z)
    going_on, found = {}, []
    for frame in range(tracks.first_frame, tracks.first_frame + len(tracks.frame_s) + 1):
        here, now = places.get(frame, {}), {}
        for one in sorted(here):
            for other in sorted(here):
                if one >= other or abs(here[one][2] - here[other][2]) >= 2.0:
                    continue
                depth = (
                    radius[one]
                    + radius[other]
                    - math.hypot(here[one][0] - here[other][0], here[one][1] - here[other][1])
                )
                if depth > deeper_than:
                    begin, frames, deepest = going_on.get((one, other), (frame, 0, 0.0))
                    now[one, other] = (begin, frames + 1, max(deepest, depth))
        found += [(*pair, *going_on[pair]) for pair in going_on if pair not in now]
        going_on = now
    return sorted(found)
