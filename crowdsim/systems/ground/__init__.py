"""What follows when the ground changes? Helpers of the systems that move obstacles and open and close areas.

In: the ground that there will be. Out: it is built in slices (`building`, `rebuild`, `tile_orders`), at what occasion (`triggers`), put under everybody's feet
in one go between two ticks (`ground_change`, `tile_changes`), and those whom it left no room are put elsewhere (`make_room`).
"""
