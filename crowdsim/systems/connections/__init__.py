"""How does an agent get through a connection? Gates and those that wait there, passages and lifts, and routes
over connections.
"""
