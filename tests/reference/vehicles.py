"""Vehicles, plainly: rectangles by shapely, curves by small steps, and a search without bounds."""

import heapq
import math

import numpy as np
import shapely


def rectangle(x, y, ux, uy, front, back, half):
    """Return the rectangle of a vehicle as a polygon."""
    ends = [(-back, -half), (front, -half), (front, half), (-back, half)]
    return shapely.Polygon([(x + a * ux - b * uy, y + a * uy + b * ux) for a, b in ends])


def lines_of(lines):
    """Return lines, (m, 4), as one shape."""
    walls = shapely.MultiLineString([[line[:2], line[2:]] for line in lines])
    shapely.prepare(walls)
    return walls


def is_free(walls, x, y, ux, uy, front, back, half):
    """Return whether a rectangle meets no line of `lines_of`."""
    return not walls.intersects(rectangle(x, y, ux, uy, front, back, half))


def pose_at(at, pose, bend, gear, along, steps=4000):
    """Return where a vehicle is on a curve, by steps of the differential equation of a bicycle."""
    piece = max(0, min(len(bend) - 1, int(np.searchsorted(along, at, side="right")) - 1))
    x, y, ux, uy = pose[piece]
    angle, step = math.atan2(uy, ux), gear[piece] * (at - along[piece]) / steps
    for _ in range(steps):
        middle = angle + 0.5 * step * bend[piece]
        x, y, angle = x + step * math.cos(middle), y + step * math.sin(middle), angle + step * bend[piece]
    return x, y, math.cos(angle), math.sin(angle)


def least_cost(start, heading, radius, body, reverses, lines, goal, costs):
    """Return the least cost over states as the search has them, cells and all, without a bound; inf: none.

    `costs` are cell side, directions, checks, margin, and what counts beside the length.
    """
    cell, count, checks, margin, backwards_cost, gear_cost, steering_cost = costs
    front, back, half = (each + margin for each in body)
    walls = lines_of(lines)
    step = radius * 2.0 * math.pi / count
    base = math.atan2(heading[1], heading[0])
    heap, closed, number = [(0.0, 0, *start, 0, 0, 1)], set(), 0
    while heap:
        cost, order, x, y, towards, turned, gear = heapq.heappop(heap)
        key = (math.floor(x / cell), math.floor(y / cell), towards % count, gear)
        if key in closed:
            continue
        closed.add(key)
        angle = base + towards * 2.0 * math.pi / count
        tip = (x + body[0] * math.cos(angle), y + body[0] * math.sin(angle))
        middle = [(math.floor(each / cell) + 0.5) * cell for each in tip]
        if goal.contains(shapely.Point(middle)):
            return cost
        for to in (1, -1) if reverses else (1,):
            for turn in (-1, 0, 1):
                pose = (x, y, math.cos(angle), math.sin(angle))

                def after(part, pose=pose, turn=turn, to=to):
                    return pose_at(step * part / checks, [pose], [turn / radius], [to], [0.0, step], steps=10)

                here = after(checks)
                then = (towards + turn * to) % count
                if (math.floor(here[0] / cell), math.floor(here[1] / cell), then, to) in closed:
                    continue  # it would be taken off the heap in vain
                if all(is_free(walls, *after(part), front, back, half) for part in range(1, checks + 1)):
                    total = cost + step * (1.0 if to == 1 else backwards_cost)
                    total += gear_cost if to != gear and order else 0.0
                    total += steering_cost if turn != turned else 0.0
                    number += 1
                    heapq.heappush(heap, (total, number, *here[:2], towards + turn * to, turn, to))
    return math.inf
