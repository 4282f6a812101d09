"""Twin of `crowdsim.navigation.tiles.handles.find_polygons`: one handle at a time, by its bits."""


def find_polygon(handle, salt, first):
    """Return the polygon that a handle names, -1 if it is stale."""
    bits = f"{handle:064b}"
    of_salt, tile, polygon = int(bits[:16], 2), int(bits[16:36], 2), int(bits[36:], 2)
    if of_salt == 0 or tile >= len(salt) or of_salt != salt[tile] or polygon >= first[tile + 1] - first[tile]:
        return -1
    return first[tile] + polygon
