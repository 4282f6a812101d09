// What the programs beside ours that benchmarks/search_peers.py, benchmarks/alarm.py and benchmarks/orca_peer.py call
// have in common: reading numbers, keeping answers, and taking turns.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

// Returns the processor time of this process, s.
inline double seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

template <class T>
std::vector<T> read(std::FILE* file, size_t count) {
    std::vector<T> found(count);
    if (std::fread(found.data(), sizeof(T), count, file) != count) std::exit(2);
    return found;
}

// Writes of each query the length of its path (m, -1 for none), how many nodes were expanded, and how many were pushed,
// as float64 (rvo2_steps.cpp keeps velocities in their place), and says that it is ready for turns.
inline void keep(const char* name, const std::vector<double>& answers) {
    std::FILE* file = std::fopen(name, "wb");
    if (!file || std::fwrite(answers.data(), sizeof(double), answers.size(), file) != answers.size()) std::exit(2);
    std::fclose(file);
    std::puts("ready");
    std::fflush(stdout);
}

// Does each piece of work so many times for each number that is read, and prints the processor seconds that each took.
template <class... Works>
void take_turns(Works... works) {
    int times = 0;
    const auto timed = [&times](auto& work) {
        const double begin = seconds();
        for (int k = 0; k < times; ++k) work();
        std::printf("%.9f ", seconds() - begin);
    };
    while (std::scanf("%d", &times) == 1) {
        (timed(works), ...);
        std::puts("");
        std::fflush(stdout);
    }
}
