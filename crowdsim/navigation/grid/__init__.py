"""How does one get there over cells? Navigation on a uniform grid, whole: from polygons to cells, ways, waypoints, and walking along them (S2).

Reading order: `parameters`, `ground`, `cells`, `grid`, `files`; then `moves`, `search`, `sight`, `cascade`, `planner`; then `follow`.
"""
