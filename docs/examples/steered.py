"""A program that steers a run: it lets guests in, opens a gate, rolls a cart, and sends all home.

Run it with `python steered.py`; then `crowdsim verify steered.h5` runs the same again, without this program.
"""

import crowdsim
from crowdsim.simulation.verdict import Verdict

HALL = {
    "version": 1,
    "name": "steered",
    "geometry": {
        "walkable": {"box": [0, 0, 16, 8]},
        "obstacles": [{"box": [7.5, 0, 8.5, 3]}, {"box": [7.5, 5, 8.5, 8]}],
        "areas": [{"name": "gate", "area": {"box": [7.6, 3, 8.4, 5]}, "available": False}],
    },
    "goals": {"stage": {"region": {"box": [11, 1, 15, 7]}}, "home": {"region": {"box": [1, 1, 5, 7]}}},
    "groups": [
        {
            "name": "guests",
            "count": 10,
            "reserve": 6,
            "region": {"box": [1, 1, 6, 7]},
            "leave_on_arrival": False,
        }
    ],
    "stop": {"after": 80},
}


def steer(run: crowdsim.Simulation) -> None:
    """Do what is to be done after a tick."""
    if run.tick == 0:
        run.set_goal(run.agents.entity, "stage")  # the gate is closed: they wait before it
        run.hold("guests[0]")
    if run.tick == 100:
        run.set_area_available("gate", True)
        run.put_obstacle("cart", {"disc": 0.4}, (10, 1))
    if run.tick == 140:
        run.move_obstacle("cart", [10, 6], 0.8)
        late = run.add_agents("guests", [[2, 1], [3, 1], [4, 1]])
        run.set_goal(late, "stage")
        run.set_speed(late, 1.8)
    if run.tick == 200:
        run.remove_obstacle("cart")
        run.move_agents("guests[0]", (10, 7.4))
        run.switch_off("guests[1]")
    if run.tick == 500:
        run.hold("guests[0]", held=False)
        run.switch_on("guests[1]")
        run.set_goal(run.agents.entity, "home")


def main(out: str = "steered.h5") -> Verdict:
    """Record the run."""
    with crowdsim.Simulation(HALL, out=out, force=True) as run:
        steer(run)
        while run.tick < 500 or not run.why_over():
            run.step()
            steer(run)
        return run.finish()


if __name__ == "__main__":
    verdict = main()
    print(f"{verdict.ended}: {verdict.arrived} of {verdict.agents} are home, digest {verdict.digest}")
