"""Where does a path end? Goals as convex pieces of ground, each in one polygon of a mesh.

In: points and regions. Out: `goals.GoalPieces`, a named tuple that searches and followers read; for each
piece where an agent may enter it (`goal_entry`, `rims`), which radii fit into it (`pole_of_inaccessibility`),
where straight lines to it lead (`targets`), and the width of its front for a crowd (`fronts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdsim.front_doors import names_from

if TYPE_CHECKING:
    from crowdsim.navigation.goals.goals import GoalPieces, GoalShape, cut_goals

__all__ = ["GoalPieces", "GoalShape", "cut_goals"]

__getattr__, __dir__ = names_from(__name__, {"goals": ("GoalPieces", "GoalShape", "cut_goals")})
