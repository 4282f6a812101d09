"""What do agents do? The parts of `Behave`: errands, conditions, signals, and the actions of states, one file
for each family of them.
"""
