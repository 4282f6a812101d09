"""Naive twin of the kernels behind `Separator`: all pairs, plain Python.

Twin of `scan_contacts`, `list_contacts`, `scale_pushes`, `push_apart`, `gather_discs` and `scatter_positions`.
"""

import math

from tests.reference.clearance import may_be_pushed

TOUCH = 1e-6


def normal(a, b, lower):
    """Unit vector from a to b; centres that coincide: the lower one is pushed towards +x."""
    distance = math.dist(a, b)
    if distance > 0.0:
        return (b[0] - a[0]) / distance, (b[1] - a[1]) / distance
    return (-1.0, 0.0) if lower else (1.0, 0.0)


def signed_overlaps(position, radius, layer):
    """{(i, j): signed overlap} for i != j on one floor."""
    n = len(position)
    return {(i, j): radius[i] + radius[j] - math.dist(position[i], position[j]) for i in range(n) for j in range(n) if i != j and layer[i] == layer[j]}


def measure(position, radius, layer):
    """(pairs deeper than TOUCH, deepest, total) of the overlaps."""
    pairs = [s for (i, j), s in signed_overlaps(position, radius, layer).items() if i < j and s > 0.0]
    return sum(s > TOUCH for s in pairs), max(pairs, default=0.0), sum(pairs)


def one_pass(position, radius, movable, layer, walls, guarded):
    """Positions after one pass."""
    signed = signed_overlaps(position, radius, layer)
    touching = {i: [j for j in range(len(position)) if (i, j) in signed and signed[i, j] > TOUCH] for i in range(len(position))}

    def moved(i, j, length):
        nx, ny = normal(position[i], position[j], i < j)
        return position[i][0] - nx * length, position[i][1] - ny * length

    can = {(i, j): movable[i] and may_be_pushed(walls, position[i], moved(i, j, signed[i, j] / 2), radius[i]) for i in touching for j in touching[i]}

    def stress(i, there):
        dx, dy = there[0] - position[i][0], there[1] - position[i][1]
        terms = []
        for j in range(len(position)):
            if (i, j) in signed:
                nx, ny = normal(position[i], position[j], i < j)
                factor = 2.0 if movable[j] else 1.0
                terms.append((2.0 / factor, max(0.0, signed[i, j] + factor * (nx * dx + ny * dy))))
        return sum(weight * term for weight, term in terms), max(term for _, term in terms)

    result = []
    for i, (x, y) in enumerate(position):
        dx = dy = 0.0
        for j in touching[i]:
            share = 0.0 if not can[i, j] else (0.5 if can[j, i] else 1.0)
            length = share * signed[i, j]
            if guarded and length > 0.0:
                before = stress(i, position[i])
                for scale in (1.0, 0.5, 0.25, 0.0):
                    after = stress(i, moved(i, j, length * scale))
                    harmless = after[0] <= before[0] + 1e-12 and after[1] <= before[1] + 1e-15
                    if harmless and may_be_pushed(walls, position[i], moved(i, j, length * scale), radius[i]):
                        break
                length *= scale
            nx, ny = normal(position[i], position[j], i < j)
            dx -= nx * length / len(touching[i])
            dy -= ny * length / len(touching[i])
        there = (x + dx, y + dy)
        result.append(there if may_be_pushed(walls, (x, y), there, radius[i]) else (x, y))
    return result


def separate(position, radius, movable, layer, walls, passes):
    """Positions after some passes; the guarded form takes over in a pass in which the plain one would do harm."""
    for _ in range(passes):
        count, deepest, total = measure(position, radius, layer)
        if not count:
            break
        plain = one_pass(position, radius, movable, layer, walls, False)
        _, deepest_then, total_then = measure(plain, radius, layer)
        harmless = deepest_then <= deepest and total_then <= total
        position = plain if harmless else one_pass(position, radius, movable, layer, walls, True)
    return position
