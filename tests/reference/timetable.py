"""Naive twin of `crowdsim.scenario.timetable.Timetable`: small steps instead of intervals."""


def unrolled(times, points, loops, until):
    """Return (times, points) of a path, walked again and again until a time."""
    period = times[-1] - times[0]
    out_times, out_points = list(times), list(points)
    turn = 1
    while loops and out_times[-1] < until:
        out_times += [time + turn * period for time in times[1:]]
        out_points += points[1:]
        turn += 1
    return out_times, out_points


def place(times, points, loops, time):
    """Return where something is at a time."""
    times, points = unrolled(times, points, loops, time)
    if time <= times[0]:
        return points[0]
    for (t0, p0), (t1, p1) in zip(
        zip(times, points, strict=True), zip(times[1:], points[1:], strict=True), strict=False
    ):
        if t0 <= time <= t1:
            share = (time - t0) / (t1 - t0)
            return p0[0] + (p1[0] - p0[0]) * share, p0[1] + (p1[1] - p0[1]) * share
    return points[-1]


def stands(times, points, loops, begin, end, since, least, step=0.01):
    """Return whether it is at one place at all of many moments, from `least` before `begin` until `end`."""
    if begin - since < least - 1e-9:
        return False
    first = begin - least
    count = max(2, int((end - first) / step) + 1)
    seen = [place(times, points, loops, first + (end - first) * i / (count - 1)) for i in range(count)]
    return all(max(abs(x - seen[0][0]), abs(y - seen[0][1])) < 1e-9 for x, y in seen)
