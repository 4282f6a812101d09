// Times the paths of Detour [Recast 2009] between the places that benchmarks/alarm.py and benchmarks/paths.py write,
// on their polygons.
//
// Detour is not part of this project. Fetch its sources, and compile them with this file:
//
//     g++ -O3 -march=native -flto -DNDEBUG -I Detour/Include benchmarks/detour_paths.cpp Detour/Source/*.cpp -o detour_paths
//     python benchmarks/alarm.py --detour ./detour_paths
//
// Called as: detour_paths FILE. FILE has four int32: vertices, polygons, queries, nodes; the vertices (x, y) and the
// queries (x, y of the start and the goal) as float64, z up; as int32 the six vertices of each polygon, counter-clockwise,
// and what lies behind its sides, -1 for nothing; the polygons of start and goal of each query.
// Printed: queries that were answered whole, mean length in m, and the processor seconds of findPath for all, and of
// findPath and findStraightPath.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "DetourAlloc.h"
#include "DetourNavMesh.h"
#include "DetourNavMeshBuilder.h"
#include "DetourNavMeshQuery.h"

static const int SIDES = 6, MOST = 4096;

static double seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

template <class T>
static std::vector<T> read(std::FILE* file, size_t count) {
    std::vector<T> found(count);
    if (std::fread(found.data(), sizeof(T), count, file) != count) std::exit(2);
    return found;
}

int main(int count, char** given) {
    std::FILE* file = count == 2 ? std::fopen(given[1], "rb") : nullptr;
    if (!file) return 2;
    const std::vector<int> size = read<int>(file, 4);
    const std::vector<double> vertex = read<double>(file, 2 * size[0]), query = read<double>(file, 4 * size[2]);
    const std::vector<int> side = read<int>(file, SIDES * size[1]), behind = read<int>(file, SIDES * size[1]),
                           polygon = read<int>(file, 2 * size[2]);
    std::fclose(file);
    double low[2] = {1e30, 1e30}, high[2] = {-1e30, -1e30};
    for (int k = 0; k < 2 * size[0]; ++k) {
        const double value = k % 2 ? -vertex[k] : vertex[k];  // z points down the page: y is up
        low[k % 2] = std::fmin(low[k % 2], value);
        high[k % 2] = std::fmax(high[k % 2], value);
    }
    const float cell = float(std::fmax(high[0] - low[0], high[1] - low[1]) / 65000.0);
    std::vector<unsigned short> corners(3 * size[0], 0), sides(2 * SIDES * size[1], 0xffff), flags(size[1], 1);
    std::vector<unsigned char> areas(size[1], 0);
    for (int k = 0; k < size[0]; ++k) {
        corners[3 * k] = (unsigned short)std::lround((vertex[2 * k] - low[0]) / cell);
        corners[3 * k + 2] = (unsigned short)std::lround((-vertex[2 * k + 1] - low[1]) / cell);
    }
    for (int p = 0; p < size[1]; ++p)
        for (int j = 0; j < SIDES; ++j) {
            if (side[SIDES * p + j] >= 0) sides[2 * SIDES * p + j] = (unsigned short)side[SIDES * p + j];
            if (behind[SIDES * p + j] >= 0) sides[2 * SIDES * p + SIDES + j] = (unsigned short)behind[SIDES * p + j];
        }
    dtNavMeshCreateParams params = {};
    params.verts = corners.data();
    params.vertCount = size[0];
    params.polys = sides.data();
    params.polyFlags = flags.data();
    params.polyAreas = areas.data();
    params.polyCount = size[1];
    params.nvp = SIDES;
    params.walkableHeight = 2.0f;
    params.walkableClimb = 0.3f;
    params.bmin[0] = float(low[0]);
    params.bmin[2] = float(low[1]);
    params.bmax[0] = float(high[0]);
    params.bmax[1] = 1.0f;
    params.bmax[2] = float(high[1]);
    params.cs = cell;
    params.ch = 1.0f;
    unsigned char* data = nullptr;
    int bytes = 0;
    dtNavMesh* mesh = dtAllocNavMesh();
    dtNavMeshQuery* search = dtAllocNavMeshQuery();
    if (!dtCreateNavMeshData(&params, &data, &bytes)) return 3;
    if (dtStatusFailed(mesh->init(data, bytes, DT_TILE_FREE_DATA))) return 3;
    if (dtStatusFailed(search->init(mesh, size[3]))) return 3;
    const dtPolyRef base = mesh->getPolyRefBase(static_cast<const dtNavMesh*>(mesh)->getTile(0));
    const dtQueryFilter filter;
    static dtPolyRef path[MOST], ref[MOST];
    static float straight[3 * MOST];
    static unsigned char kind[MOST];
    double took[2] = {0.0, 0.0}, length = 0.0;
    int whole = 0;
    for (int round = 0; round < 2; ++round) {
        length = 0.0;
        whole = 0;
        const double begin = seconds();
        for (int q = 0; q < size[2]; ++q) {
            const float from[3] = {float(query[4 * q]), 0.0f, float(-query[4 * q + 1])};
            const float to[3] = {float(query[4 * q + 2]), 0.0f, float(-query[4 * q + 3])};
            int portals = 0, points = 0;
            const dtStatus status =
                search->findPath(base | polygon[2 * q], base | polygon[2 * q + 1], from, to, &filter, path, &portals, MOST);
            whole += dtStatusSucceed(status) && !dtStatusDetail(status, DT_PARTIAL_RESULT);
            if (round == 0) continue;
            search->findStraightPath(from, to, path, portals, straight, kind, ref, &points, MOST);
            for (int k = 1; k < points; ++k)
                length += std::hypot(straight[3 * k] - straight[3 * k - 3], straight[3 * k + 2] - straight[3 * k - 1]);
        }
        took[round] = seconds() - begin;
    }
    std::printf("%d %.4f %.6f %.6f\n", whole, length / size[2], took[0], took[1]);
    dtFreeNavMeshQuery(search);
    dtFreeNavMesh(mesh);
    return 0;
}
