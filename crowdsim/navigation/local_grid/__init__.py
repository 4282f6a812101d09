"""Is there a path round what stands just ahead? A small grid that follows an agent, and a search through it.

In: what stands near an agent, the walls, and the next corner of its path. Out: a waypoint of the detour, or
that there is none. `grid` draws what stands near on cells, `search` is the breadth-first search over spans of
free cells with a funnel, `detours` does both for many agents ([Mononen 2010], "Local Navigation Grids").
"""
