"""Which request is served when? Requests wait in a queue, and searches in slots answer them within a grant of
work.

In: requests (from where, to which goal, for which agent), a grant in expansions. Out: answers in the order of
requests, each with a status and a corridor. `protocol` is what every planner does, `portals` what is made of
corridors outside of a tick, `mesh_planner` the planner over polygons, `request_queue` which requests wait,
`work` one round of serving them, `search_backends` the searches that slots can hold.
"""
