"""What the heaps of searches have in common: a node has four children, told apart without branches."""

# mypy: allow-untyped-defs

from __future__ import annotations

from crowdsim.kernels.decorator import inlined_kernel


@inlined_kernel
def least_of_four(a, b, c, d):
    """Return which of four numbers is the least, 0 to 3, the first of several; that number, and how many are
    as small.

    Without branches: which child of a node it is is as good as drawn, and to guess wrong costs more.
    """
    first, least = 0, a
    if b < least:
        first, least = 1, b
    other, lesser = 2, c
    if d < lesser:
        other, lesser = 3, d
    if lesser < least:
        first, least = other, lesser
    return first, least, (a == least) + (b == least) + (c == least) + (d == least)
