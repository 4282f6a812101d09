"""What a metre costs at points in sight, by shapes: the twin of `crowdsim.navigation.visibility.exposure`."""

import shapely


def price(ground, point, watchers, exposure):
    """Return what a metre costs at a point of a level ground (shapely, m): a watcher sees it if the straight
    line to it stays on the ground.
    """
    closed = ground.buffer(1e-9)
    seen = sum(closed.covers(shapely.LineString([watcher, point])) for watcher in watchers)
    return 1.0 + exposure * seen
