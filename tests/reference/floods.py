"""Twins of floods that forget. Kernels: keep_waiting, note_lengths."""


def keep_waiting(waiting, top):
    """Which intervals are kept, in their order, and what those that wait are called then: those in the heap,
    and the next one, -1 for none.
    """
    kept = sorted({*waiting, top} - {-1})
    return kept, [kept.index(each) for each in waiting], kept.index(top) if top >= 0 else -1


def note_lengths(length_by, polygon_of, polygons, corner, known):
    """Of each corner of the polygon that an interval enters the least of what was known, and of its length by
    each of these.
    """
    found = list(known)
    for node, polygon in enumerate(polygon_of):
        for edge in polygons[polygon]:
            found[edge] = min(found[edge], length_by(node, *corner[edge]))
    return found
