"""When do agents come in while the run lasts, and where is there room for them?

In: `Group.arrive` of the scenario. Out: which agents are due (`due`), and places that are free (`entrances`).
"""
