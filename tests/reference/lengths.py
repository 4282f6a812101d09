"""Plain twins of `crowdsim.geometry.lengths`, by exact fractions."""

from fractions import Fraction


def square_of_length(x, y):
    """The square of the length of (x, y), exactly."""
    return Fraction(x) ** 2 + Fraction(y) ** 2


def is_within_a_unit(length, x, y, unit):
    """Whether a length is less than `unit` from that of (x, y)."""
    square = square_of_length(x, y)
    low, high = Fraction(length) - Fraction(unit), Fraction(length) + Fraction(unit)
    return (low < 0 or low * low < square) and square < high * high


def dot(a, b):
    """The sum of products, from the first to the last, each rounded."""
    total = a[0] * b[0]
    for one, other in zip(a[1:], b[1:], strict=True):
        total = total + one * other
    return total
