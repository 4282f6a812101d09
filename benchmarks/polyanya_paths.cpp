// Times the searches of the program of [Cui 2017] on the meshes and between the points that benchmarks/search_peers.py
// writes.
//
// It is not part of this project. Fetch its sources (xiangzebo/Polyanya, folder anyangle/polyanya). That copy has a field
// in its nodes that nothing fills, so that no path is found: take it out as below. Compile them with this file:
//
//     sed -i '/int cur_polygon;/d' structs/searchnode.h
//     g++ -O3 -march=native -flto -DNDEBUG -I structs -I helpers -I search benchmarks/polyanya_paths.cpp \
//         structs/*.cpp helpers/*.cpp search/*.cpp -o polyanya_paths
//     python benchmarks/search_peers.py --polyanya ./polyanya_paths
//
// Called as: polyanya_paths MESH QUERIES ANSWERS. MESH is in that program's format, version 2; QUERIES has an int32,
// their number, and as float64 x, y of the start and the goal of each. peer_turns.h says what is written and printed.
#include <fstream>

#include "mesh.h"
#include "peer_turns.h"
#include "searchinstance.h"

int main(int count, char** given) {
    std::FILE* file = count == 4 ? std::fopen(given[2], "rb") : nullptr;
    std::ifstream polygons(count == 4 ? given[1] : "");
    if (!file || !polygons.is_open()) return 2;
    const int queries = read<int>(file, 1)[0];
    const std::vector<double> query = read<double>(file, 4 * size_t(queries));
    std::fclose(file);
    polyanya::Mesh mesh(polygons);
    polyanya::SearchInstance search(&mesh);
    std::vector<double> answers(3 * size_t(queries));
    const auto all = [&]() {
        for (int q = 0; q < queries; ++q) {
            search.set_start_goal({query[4 * q], query[4 * q + 1]}, {query[4 * q + 2], query[4 * q + 3]});
            search.search();
            answers[3 * q] = search.get_cost();
            answers[3 * q + 1] = search.successor_calls;  // it pops fewer: single successors are followed at once
            answers[3 * q + 2] = search.nodes_pushed;
        }
    };
    all();
    keep(given[3], answers);
    take_turns(all);
    return 0;
}
