"""When does what happen? A world, the systems of the tick in their order, and everything round them.

In: a scenario in any form. Out: `simulation.Simulation`, which can be stepped, run, read, steered, saved and
taken up, and its `verdict`.

Reading order: `simulation` (step, run, state), `slicer` and `budget` (how much long work a tick does),
`recorder` and `probes` (what is recorded, and how long it took), `warm` (kernels before the first tick),
`checkpoints` and `going_on` (taking a run up), `interventions`, `replay`, `placing`, `listeners` and
`agents_view` (what a program does to a run and sees of it).
"""
