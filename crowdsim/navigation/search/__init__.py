"""Which portals does a path lead through? Searches over a mesh that can be stopped anywhere and are paid in
expansions.

In: a mesh, a start, pieces of a goal, a clearance, and how much may be done now. Out: a row of portals, or
why there is none. `a_star` runs over points of portals (`portal_points`), `polyanya` over intervals of them
(`polyanya_intervals`, begun at the goal in `polyanya_goal`); both keep what they know in slots
(`slot_fields`, `polyanya_slots`). `bottleneck_forest` says before a search whether an agent fits through at
all; `sharing` lets requests for one goal share a search; `portal_prices` are what a request adds to portals;
`heuristic_weight` is the weight of A*'s heuristic, `round_stationary` what is known of stationary agents;
`goal_entries` is where searches begin.
"""
