"""What is a path to the tick? It is requested, followed, lost, joined, measured and saved (`paths`),
as a corridor or as waypoints.

In: answers of planners, and where agents are. Out: corridors in their store (`corridor_paths`,
`corridor_blocks`, `straighten`), walks along waypoints (`waypoint_paths`), agents that lose a path or wish
for another (`lost_paths`), those whose requests are yet to be made (`asking`), guesses of agents that wait
for a path (`corner_guesses`, `cell_guesses`), their progress (`progress`), and portals that stationary agents
shut (`shut_portals`).
"""
