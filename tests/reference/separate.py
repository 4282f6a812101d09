"""Naive twin of the kernels behind `Separator`: all pairs, plain Python.

Twin of `scan_contacts`, `list_contacts`, `scale_pushes`, `push_apart`, `gather_discs` and
`scatter_positions`; `beside` of `mark_beside`, and `measure` of `find_moved` and `recount` together.
"""

import math

from tests.reference.clearance import bent_along_walls, may_be_pushed

TOUCH = 1e-6
MOVABLE, DRIVEN = 1, 2
SWING = 0.97
STILL = 1e-4
WEDGED = 0.1
SLIGHT = 1e-3
STEPS_BACK = (1.5, 2.25, 2.25, 2.25)
LEAST_ALONG = 1e-6


def normal(a, b, lower):
    """Unit vector from a to b; centres that coincide: the lower one is pushed towards +x."""
    distance = math.dist(a, b)
    if distance > 0.0:
        return (b[0] - a[0]) / distance, (b[1] - a[1]) / distance
    return (-1.0, 0.0) if lower else (1.0, 0.0)


def signed_overlaps(position, radius, layer, movable):
    """{(i, j): signed overlap} for i != j on one floor, unless both are driven."""
    n = len(position)
    pairs = [
        (i, j)
        for i in range(n)
        for j in range(n)
        if i != j and layer[i] == layer[j] and not movable[i] == movable[j] == DRIVEN
    ]
    return {(i, j): radius[i] + radius[j] - math.dist(position[i], position[j]) for i, j in pairs}


def measure(position, radius, layer, movable):
    """(pairs deeper than TOUCH, deepest, total) of the overlaps."""
    pairs = [
        s for (i, j), s in signed_overlaps(position, radius, layer, movable).items() if i < j and s > 0.0
    ]
    return sum(s > TOUCH for s in pairs), max(pairs, default=0.0), sum(pairs)


def beside(moved, before, after, radius, plane):
    """Discs that have not moved and overlap one that has, where it was or where it is."""
    return {
        j
        for i in moved
        for j in range(len(radius))
        if j not in moved
        and plane[i] == plane[j]
        and any(math.dist(at[i], at[j]) < radius[i] + radius[j] for at in (before, after))
    }


def along(push, towards):
    return push[0] * towards[0] + push[1] * towards[1]


def ways(position, radius, movable, walls, signed, touching):
    """{(i, j): (rank, direction)} of how i makes way for j: 2 straight, 1 along a wall, 0 not at all;
    pushes are direction times length.
    """
    found = {}
    for i in touching:
        for j in touching[i]:
            nx, ny = normal(position[i], position[j], i < j)
            alone = movable[j] != MOVABLE
            length = signed[i, j] * (1.0 if alone else 0.5)
            if movable[i] != MOVABLE:
                found[i, j] = 0, (0.0, 0.0)
            elif may_be_pushed(
                walls, position[i], (position[i][0] - nx * length, position[i][1] - ny * length), radius[i]
            ):
                found[i, j] = 2, (-nx, -ny)
            else:
                bent = bent_along_walls(walls, position[i], (-nx * length, -ny * length), radius[i], alone)
                found[i, j] = int(bent != (0.0, 0.0)), (bent[0] / length, bent[1] / length)
            rank, push = found[i, j]
            ahead = [normal(position[i], position[k], i < k) for k in touching[i] if movable[k] != MOVABLE]
            into = max((along(push, towards) for towards in ahead), default=0.0)
            if rank and not alone and into > 0.0:  # what it may not bring nearer holds it up as a wall does
                nx, ny = max(ahead, key=lambda towards: along(push, towards))
                push = push[0] - into * nx, push[1] - into * ny
                there = position[i][0] + push[0] * length, position[i][1] + push[1] * length
                if math.hypot(*push) <= LEAST_ALONG or any(
                    along(push, towards) > LEAST_ALONG for towards in ahead
                ):
                    rank, push = 0, (0.0, 0.0)
                elif not may_be_pushed(walls, position[i], there, radius[i]):
                    rank = 0
                found[i, j] = min(rank, 1), push
    return found


def drawn_back(there, start, farthest):
    """`there`, or what of the way to it from `start` is no longer than `farthest`."""
    away = math.dist(start, there)
    return (
        there
        if away <= farthest
        else tuple(a + (b - a) * farthest / away for a, b in zip(start, there, strict=True))
    )


def one_pass(
    position, radius, movable, layer, walls, guarded, swing=0.0, old=None, start=None, farthest=math.inf
):
    """Positions after one pass, none farther than `farthest` from `start`;
    with `swing`, discs with contacts go on with that share of their way from `old`.
    """
    signed = signed_overlaps(position, radius, layer, movable)
    touching = {
        i: [j for j in range(len(position)) if (i, j) in signed and signed[i, j] > TOUCH]
        for i in range(len(position))
    }
    way = ways(position, radius, movable, walls, signed, touching)

    def stress(i, dx, dy):
        terms = []
        for j in range(len(position)):
            if (i, j) in signed:
                nx, ny = normal(position[i], position[j], i < j)
                factor = 2.0 if movable[j] == MOVABLE else 1.0
                terms.append((2.0 / factor, max(0.0, signed[i, j] + factor * (nx * dx + ny * dy))))
        return sum(weight * term for weight, term in terms), max(term for _, term in terms)

    result = []
    for i, (x, y) in enumerate(position):
        dx = dy = 0.0
        for j in touching[i]:
            (mine, (ux, uy)), (theirs, _) = way[i, j], way[j, i]
            length = signed[i, j] * (0.0 if mine == 0 or mine < theirs else (0.5 if mine == theirs else 1.0))
            if guarded and length > 0.0:
                before = stress(i, 0.0, 0.0)
                for scale in (1.0, 0.5, 0.25, 0.0):
                    ex, ey = ux * length * scale, uy * length * scale
                    after = stress(i, ex, ey)
                    harmless = after[0] <= before[0] + 1e-12 and after[1] <= before[1] + 1e-15
                    if harmless and may_be_pushed(walls, position[i], (x + ex, y + ey), radius[i]):
                        break
                length *= scale
            dx += ux * length / len(touching[i])
            dy += uy * length / len(touching[i])
        choices = [(x + dx, y + dy), (x + 0.5 * dx, y + 0.5 * dy)]
        if swing and touching[i]:
            choices.insert(0, (x + dx + swing * (x - old[i][0]), y + dy + swing * (y - old[i][1])))
        if start is not None and touching[i]:
            choices = [drawn_back(there, start[i], farthest) for there in choices]
        result.append(
            next((there for there in choices if may_be_pushed(walls, (x, y), there, radius[i])), (x, y))
        )
    return result


def separate(
    position, radius, movable, layer, walls, passes, tolerated=0.02, further=60, before=None, farthest=0.3
):
    """Positions after some passes and further ones;
    where those leave somebody too deep, its knot goes back to `before`, and all begins anew.
    """
    before, fewer = before or position, list(position)
    parted = part(fewer, radius, movable, layer, walls, passes, tolerated, further, farthest)
    for too_deep in STEPS_BACK if further else ():
        stands = knots(parted, radius, layer, movable, too_deep * tolerated)
        if all(fewer[i] == before[i] for i in stands):
            break
        fewer = [before[i] if i in stands else there for i, there in enumerate(fewer)]
        parted = part(fewer, radius, movable, layer, walls, passes, tolerated, further, farthest)
    return parted


def is_better(deepest_then, total_then, deepest, total, most):
    return (deepest_then < deepest - TOUCH and total_then <= most) or (
        deepest_then <= deepest and total_then < total - TOUCH
    )


def knots(position, radius, layer, movable, depth):
    """Movable discs that are deeper than `depth` in another, and those that chains of overlaps of more than a
    millimetre join to them.
    """
    signed = {
        (i, j): s
        for (i, j), s in signed_overlaps(position, radius, layer, movable).items()
        if movable[i] == movable[j] == MOVABLE
    }
    found = {i for (i, _), s in signed.items() if s > depth}
    while more := {j for (i, j), s in signed.items() if s > SLIGHT and i in found} - found:
        found |= more
    return found


def part(position, radius, movable, layer, walls, passes, tolerated, further, farthest):
    """Positions after some passes; the guarded form takes over in a pass in which the plain one would do
    harm. Then `loosen`.
    """
    moved = math.inf
    for _ in range(passes):
        count, deepest, total = measure(position, radius, layer, movable)
        if not count:
            break
        plain = one_pass(position, radius, movable, layer, walls, False)
        _, deepest_then, total_then = measure(plain, radius, layer, movable)
        harmless = deepest_then <= deepest and total_then <= total
        old, position = (
            position,
            plain if harmless else one_pass(position, radius, movable, layer, walls, True),
        )
        moved = max(map(math.dist, position, old))
    tolerated *= WEDGED if moved < STILL else 1.0
    return loosen(position, radius, movable, layer, walls, tolerated, further, farthest)


def loosen(position, radius, movable, layer, walls, tolerated, further, farthest):
    """Positions after further passes with swing, until the deepest overlap is tolerated:
    those with the least, among those with no more overlap in all.
    """
    _, deepest, total = measure(position, radius, layer, movable)
    start, best, old, swing, most = position, position, position, 0.0, total
    for _ in range(further):
        if deepest <= tolerated:
            break
        position, old, swing = (
            one_pass(position, radius, movable, layer, walls, False, swing, old, start, farthest),
            position,
            SWING,
        )
        _, deepest_then, total_then = measure(position, radius, layer, movable)
        if is_better(deepest_then, total_then, deepest, total, most):
            best, deepest, total = position, deepest_then, total_then
        if max(map(math.dist, position, old)) < STILL:
            break
    return best


def sum_overlaps(count, deepest, total):
    """How many overlaps discs have, the deepest, and the sum."""
    return sum(count.tolist()), max(deepest.tolist()), sum(total.tolist())
