"""Which kinds of ground the agents of a group walk on, and what a metre of each costs them."""

from __future__ import annotations

from dataclasses import dataclass

from crowdsim.tunable import NAMES, PRICES, param


@dataclass(frozen=True)
class GroundFilter:
    """Kinds of ground, by the names of terrain, that paths keep off. All planners have it."""

    forbid: tuple[str, ...] = param(
        (),
        "",
        holds=NAMES,
        is_later=True,
        source="[Cui 2012], section 2",
        why=(
            "terrain that paths do not lead over; an agent that was pushed there walks off it over the "
            "nearest rim; none where it is empty"
        ),
    )
    allow: tuple[str, ...] = param(
        (),
        "",
        holds=NAMES,
        is_later=True,
        source="[Cui 2012], section 2",
        why="terrain that paths lead over, and over no other ground; all ground where it is empty",
    )


@dataclass(frozen=True)
class GroundPrices:
    """What metres cost on kinds of ground, for planners that heed what a metre costs."""

    prices: tuple[tuple[str, float], ...] = param(
        (),
        "",
        holds=PRICES,
        is_later=True,
        above=0.0,
        high=1e6,
        source="[Cui 2012], section 2",
        why=(
            "what a metre of some terrain costs, 1 elsewhere: 3 takes a detour of three metres for a metre "
            "less of it, 0.5 one to walk on it; no agent is slower for it"
        ),
    )
