"""What has to be kept beside a path? Helpers of the systems that plan paths and lead agents along them.

In: answers of planners, and where agents are. Out: corridors in their store (`corridor_blocks`, `straighten`), guesses of agents that wait for a path
(`corner_guesses`, `cell_guesses`), their progress (`progress`), portals at which they found no way (`shut_portals`), and wishes for a new path
(`replan_wishes`).
"""
