"""Twin of `crowdsim.avoidance.density_speed.slow_down`, from Weidmann's relation and the definition of the
density.
"""

from __future__ import annotations

import math

from crowdsim.avoidance.density_speed import PLACES


def weidmann_share(density, steepness=1.913, jam_density=5.4, least=0.1):
    """Return v / v0 (Weidmann 1993), not below `least`."""
    if density <= 0.0:
        return 1.0
    if density >= jam_density:
        return least
    return max(least, 1.0 - math.exp(-steepness * (1.0 / density - 1.0 / jam_density)))


def crosses(a, b, p, q):
    """Tell whether the way from p to q crosses the wall a -> b from its left, free side to the other."""

    def side(o, d, r):
        return (d[0] - o[0]) * (r[1] - o[1]) - (d[1] - o[1]) * (r[0] - o[0])

    return side(a, b, p) >= 0.0 > side(a, b, q) and (side(p, q, a) >= 0.0) != (side(p, q, b) >= 0.0)


def felt_density(row, position, layer, wanted, walls, law):
    """Return the density that slows one agent down, 1/m^2:
    that ahead of it, and a share of what the press right before it has more than that.
    """
    far = density_ahead(row, position, layer, wanted, walls, law.radius, law.ahead)
    press = density_ahead(row, position, layer, wanted, walls, law.press_radius, law.press_ahead)
    return far + law.press_share * max(0.0, press - max(far, law.press_from))


def density_ahead(row, position, layer, wanted, walls, radius, ahead):
    """Return the density in a disc ahead of one agent, 1/m^2; `walls` are pairs of points."""
    x, y = position[row]
    speed = math.hypot(*wanted[row])
    ux, uy = wanted[row][0] / speed, wanted[row][1] / speed
    cx, cy = x + ahead * ux, y + ahead * uy
    weight = 0.0
    for other, place in enumerate(position):
        away = math.hypot(place[0] - cx, place[1] - cy)
        if (
            other != row
            and layer[other] == layer[row]
            and away < radius
            and not any(crosses(a, b, (x, y), place) for a, b in walls)
        ):
            weight += 1.0 - (away / radius) ** 2
    weight += min(1.0, weight) * max(0.0, 1.0 - (ahead / radius) ** 2)
    seen = 0
    for px, py in PLACES:
        point = (cx + radius * (px * ux - py * uy), cy + radius * (px * uy + py * ux))
        seen += not any(crosses(a, b, (x, y), point) for a, b in walls)
    return weight / (0.5 * math.pi * radius * radius * max(seen, 6) / 24)
