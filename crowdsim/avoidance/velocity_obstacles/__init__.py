"""Which is the best velocity outside all velocity obstacles? ClearPath and HRVO, exactly.

In: an agent, its neighbours and the walls near it. Out: one velocity. `obstacles` are convex sets of
velocities, `boundary` looks along their union, `kernel` is what all such models compile, `model` what they
share beside it, `clearpath` and `hrvo` are the models.
"""
