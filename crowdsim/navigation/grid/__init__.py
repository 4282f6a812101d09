"""How does one get there over cells? Navigation on a uniform grid, whole ([Pathfinding undated]):
polygons to cells, paths, waypoints, walking along them.

Reading order: `parameters`, `ground`, `cells`, `drawn`, `grid`, `files`; then `moves`, `search`, `sight`,
`cascade`, `planner`; then `follow`. Several floors: `sheet`, `seams`, `floors`, `lines`.
"""
