// Times the steps of RVO2 [van den Berg 2011] with the crowds that benchmarks/orca_peer.py writes.
//
// RVO2 is not part of this project. Fetch its sources (snape/RVO2), and compile them with this file, without OpenMP:
//
//     g++ -O3 -march=native -flto -DNDEBUG -DRVO_STATIC_DEFINE -I src benchmarks/rvo2_steps.cpp src/*.cc -o rvo2_steps
//     python benchmarks/orca_peer.py --rvo2 ./rvo2_steps
//
// Called as: rvo2_steps FILE ANSWERS. FILE has an int32 each, agents, pillars, and neighbours at most; as float64 the tick (s), how
// far neighbours are looked for (m), horizons beside agents and walls (s); of each agent x, y, preferred velocity, radius and
// greatest speed; of each pillar its four corners, counter-clockwise. peer_turns.h says what is printed; ANSWERS gets
// the velocities after the first step, and a zero.
#include "RVO.h"
#include "peer_turns.h"

int main(int count, char** given) {
    std::FILE* file = count == 3 ? std::fopen(given[1], "rb") : nullptr;
    if (!file) return 2;
    const std::vector<int> size = read<int>(file, 3);
    const std::vector<double> said = read<double>(file, 4), agent = read<double>(file, 6 * size_t(size[0])),
                              pillar = read<double>(file, 8 * size_t(size[1]));
    std::fclose(file);
    RVO::RVOSimulator crowd;
    crowd.setTimeStep(said[0]);
    for (int k = 0; k < size[0]; ++k) {
        const double* one = &agent[6 * size_t(k)];
        const RVO::Vector2 velocity(one[2], one[3]);
        crowd.addAgent(RVO::Vector2(one[0], one[1]), said[1], size[2], said[2], said[3], one[4], one[5], velocity);
        crowd.setAgentPrefVelocity(k, velocity);
    }
    for (int k = 0; k < size[1]; ++k) {
        std::vector<RVO::Vector2> corners;
        for (int c = 0; c < 4; ++c) corners.emplace_back(pillar[8 * k + 2 * c], pillar[8 * k + 2 * c + 1]);
        crowd.addObstacle(corners);
    }
    crowd.processObstacles();
    crowd.doStep();
    std::vector<double> answers;
    for (int k = 0; k < size[0]; ++k)
        for (double value : {double(crowd.getAgentVelocity(k).x()), double(crowd.getAgentVelocity(k).y()), 0.0})
            answers.push_back(value);
    keep(given[2], answers);
    take_turns([&]() { crowd.doStep(); });
}
