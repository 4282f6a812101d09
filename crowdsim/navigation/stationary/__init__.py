"""How does a path lead round agents that stand? Those agents as searches on a mesh see them
([Pathfinding undated], sections 5 and 6).

`near` lists them, `barriers` draws what they shut on what one search knows of the mesh, `passage` tests
whether there is room past them, `search` looks for another path, and `planner` does all this for any planner
that finds corridors.
"""
