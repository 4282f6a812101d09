"""How does a path lead over ground that is too large to search all of it? Areas, searched first; then the
ground of those that the path leads through.

In: a mesh, goals. Out: corridors, as from any planner on a mesh.

Reading order: `areas` (what belongs together), `nodes` (where one gets from area to area), `flood` (what lies
between two of them), `graph` (all of it), `known` (what was measured before), `straight` (a string over
areas), `search` (areas first, then their ground), `planner`.
"""
