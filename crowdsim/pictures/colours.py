"""Colours that people with every kind of sight tell apart: [Okabe 2008]."""

from __future__ import annotations

from collections.abc import Iterable

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B8A900")
DASHES = ("-", "--", "-.", ":")  # Beyond eight, and for prints without colour.


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, in their order, each name once; the ninth has the first again."""
    return {name: OKABE_ITO[number % len(OKABE_ITO)] for number, name in enumerate(dict.fromkeys(names))}


def dashes_of(names: Iterable[str]) -> dict[str, str]:
    """Return how the line of each name is drawn, so that two of one colour differ."""
    return {name: DASHES[number // len(OKABE_ITO) % len(DASHES)] for number, name in enumerate(dict.fromkeys(names))}
