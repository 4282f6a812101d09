"""How does a scenario become a world? Ground is meshed, agents are drawn and placed, goals are cut,
and what cannot be is refused.

In: a resolved `Scenario`. Out: `build.Built`, a world with everything that the systems of the tick need, and
before a run what is wrong with a scenario.

Reading order: `build` (a scenario to a world), `agents` (the agents as arrays: `draws` of distributions,
`placement` and `packing` of discs on the areas of `area_grid`), `grounds` and `mesh_parts` (the ground with
any areas closed), `obstacle_state` (obstacles as named arrays). `examine` looks closer before a run: `paths`
(what each agent would walk alone, for pictures too), `gaps` (what blocks agents), `locked` (which agents
later events lock in), `recording_size` (with those that come in: `newcomers`, `due`, `entrances`).
"""
