"""The heuristic of A* and its weight: how strongly a search is drawn to where it has to come out."""

from __future__ import annotations

from dataclasses import dataclass

from crowdsim.tunable import param


@dataclass(frozen=True)
class HeuristicParameters:
    """The heuristic of A* and its weight, for planners whose paths may be longer than the best for it.

    Notes
    -----
    A heuristic h that is never above the true cost and obeys the triangle inequality, weighed with w >= 1,
    gives paths that cost at most w times as much as the best: a node of the best path is always open, with a
    bound of at most w times its cost ([Pohl 1970]; without opening nodes again: [Likhachev 2003]).
    """

    weight: float = param(
        1.0,
        "",
        low=1.0,
        high=100.0,
        source="[Norberg 2004], section 3",
        why=(
            "of the heuristic: 1 finds the best paths there are; larger looks at less of the ground, and "
            "paths cost up to that many times as much"
        ),
    )
    heuristic: str = param(
        "euclidean",
        "",
        choices=("euclidean", "zero"),
        source="[Norberg 2004], sections 2.1 and 3",
        why=(
            "what is left of a path is taken for the straight line; zero is Dijkstra's search, which looks "
            "everywhere and finds paths as good"
        ),
    )

    @property
    def heuristic_weight(self) -> float:
        """Weight of the straight line; 0 without a heuristic."""
        return self.weight if self.heuristic != "zero" else 0.0
