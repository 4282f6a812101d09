"""Which path over corners is the shortest? Points of visibility ([Norberg 2004], section 4):
the corners that paths bend round, for any radius.

Reading order: `corners`, `sight`, `tangents`, `clear`, `graph`, `weights`, `links`, `search`, `corridor`,
`planner`.
"""
