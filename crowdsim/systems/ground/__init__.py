"""What follows when the ground changes? Helpers of the systems that move obstacles and open and close areas.

In: the ground that there will be. Out: it is built in slices (`building`, `rebuild`, `tile_orders`), at what
occasion (`triggers`), put in at once between two ticks (`ground_change`, `tile_changes`), and agents without
room are put elsewhere (`make_room`).
"""
