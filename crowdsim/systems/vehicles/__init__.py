"""How does a vehicle get along its curve? What comes in: where it is on the curve, and all that may be in its
way. What goes out: its speed.
"""
