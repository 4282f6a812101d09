"""Which of many velocities costs least? Models that try velocities and weigh them.

In: an agent, its neighbours and the walls near it. Out: one velocity. `candidate_velocities` and `samplers`
say what is tried, `time_to_collision` how soon it would run into something, `kernel` is what all such models
compile, `model` what they share beside it, `sampled` and `toi` are the models.
"""
