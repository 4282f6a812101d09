"""Which velocity keeps every half-plane? Optimal reciprocal collision avoidance (ORCA).

In: an agent, its neighbours and the walls near it. Out: one velocity. `half_planes` (of agents) and
`wall_planes` (of walls) say what is permitted, `linear_programs` finds the best of it, `orca` is the model.
"""
