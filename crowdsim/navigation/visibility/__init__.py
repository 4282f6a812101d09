"""Which path over corners is the shortest? Points of visibility (S0 section 4): ways found over the corners that they can bend round, for bodies of any radius.

Reading order: `corners`, `sight`, `tangents`, `clear`, `graph`, `weights`, `links`, `search`, `corridor`, `planner`.
"""
