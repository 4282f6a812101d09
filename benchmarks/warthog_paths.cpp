// Times the A* of warthog over the cells of a map, between the cells that benchmarks/search_peers.py writes.
//
// It is not part of this project. Fetch its sources (ShortestPathLab/warthog-core), and compile them with this file:
//
//     g++ -std=c++20 -O3 -march=native -flto -DNDEBUG -I include benchmarks/warthog_paths.cpp src/*/*.cpp \
//         -o warthog_paths
//     python benchmarks/search_peers.py --warthog ./warthog_paths
//
// Called as: warthog_paths MAP QUERIES ANSWERS. MAP is one of the MovingAI benchmark; QUERIES has an int32, their
// number, and as float64 the column and the row of the start and of the goal of each. peer_turns.h says what is written
// and printed.
#include <warthog/domain/gridmap.h>
#include <warthog/heuristic/octile_heuristic.h>
#include <warthog/search/gridmap_expansion_policy.h>
#include <warthog/search/unidirectional_search.h>
#include <warthog/util/pqueue.h>

#include "peer_turns.h"

int main(int count, char** given) {
    std::FILE* file = count == 4 ? std::fopen(given[2], "rb") : nullptr;
    if (!file) return 2;
    const int queries = read<int>(file, 1)[0];
    const std::vector<double> query = read<double>(file, 4 * size_t(queries));
    std::fclose(file);
    warthog::domain::gridmap map(given[1]);
    warthog::search::gridmap_expansion_policy steps(&map);
    warthog::heuristic::octile_heuristic left(map.width(), map.height());
    warthog::util::pqueue_min open;
    warthog::search::unidirectional_search search(&left, &steps, &open);
    warthog::search::search_parameters usual;
    warthog::search::solution found;
    std::vector<double> answers(3 * size_t(queries));
    const auto all = [&]() {
        for (int q = 0; q < queries; ++q) {
            const double* at = &query[4 * q];
            warthog::search::problem_instance asked(
                steps.get_pack(int(at[0]), int(at[1])), steps.get_pack(int(at[2]), int(at[3])));
            found.reset();
            search.get_path(&asked, &usual, &found);
            answers[3 * q] = found.path_.empty() ? -1.0 : double(found.sum_of_edge_costs_);
            answers[3 * q + 1] = found.met_.nodes_expanded_;
            answers[3 * q + 2] = found.met_.nodes_expanded_ + found.met_.nodes_surplus_;
        }
    };
    all();
    keep(given[3], answers);
    take_turns(all);
    return 0;
}
