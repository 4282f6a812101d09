// Times the paths of Detour [Recast 2009] on the polygons and between the places that benchmarks/alarm.py and
// benchmarks/search_peers.py write.
//
// Detour is not part of this project. Fetch its sources, and compile them with this file:
//
//     g++ -O3 -march=native -flto -DNDEBUG -I Detour/Include benchmarks/detour_paths.cpp Detour/Source/*.cpp -o detour_paths
//     python benchmarks/search_peers.py --detour ./detour_paths
//
// Called as: detour_paths FILE ANSWERS. FILE has four int32: vertices, polygons, queries, nodes; the vertices (x, y, z) and
// the queries (x, y, z of the start and of the goal) as float64, z up; as int32 the six vertices of each polygon,
// counter-clockwise, and what lies behind its sides, -1 for nothing; the polygons of start and goal of each query.
// peer_turns.h says what is written and printed: lengths are in plan, nodes pushed those that Detour's pool holds, nodes
// expanded those of them that are closed. A turn has two times: findPath alone, and findPath with findStraightPath.
#include <cmath>
#include <vector>

#include "DetourAlloc.h"
#include "DetourNavMesh.h"
#include "DetourNavMeshBuilder.h"
#include "DetourNavMeshQuery.h"
#include "DetourNode.h"
#include "peer_turns.h"

static const int SIDES = 6, MOST = 4096;

int main(int count, char** given) {
    std::FILE* file = count == 3 ? std::fopen(given[1], "rb") : nullptr;
    if (!file) return 2;
    const std::vector<int> size = read<int>(file, 4);
    std::vector<double> vertex = read<double>(file, 3 * size[0]), query = read<double>(file, 6 * size[2]);
    const std::vector<int> side = read<int>(file, SIDES * size[1]), behind = read<int>(file, SIDES * size[1]),
                           polygon = read<int>(file, 2 * size[2]);
    std::fclose(file);
    for (std::vector<double>* points : {&vertex, &query})  // y is up there, and z points down the page
        for (size_t k = 0; k < points->size(); k += 3) {
            const double up = (*points)[k + 2];
            (*points)[k + 2] = -(*points)[k + 1];
            (*points)[k + 1] = up;
        }
    double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30}, widest = 0.0;
    for (int k = 0; k < 3 * size[0]; ++k) {
        low[k % 3] = std::fmin(low[k % 3], vertex[k]);
        high[k % 3] = std::fmax(high[k % 3], vertex[k]);
    }
    for (int k = 0; k < 3; ++k) widest = std::fmax(widest, high[k] - low[k]);
    const float cell = float(widest / 65000.0);
    std::vector<unsigned short> corners(3 * size[0], 0), sides(2 * SIDES * size[1], 0xffff), flags(size[1], 1);
    std::vector<unsigned char> areas(size[1], 0);
    for (int k = 0; k < 3 * size[0]; ++k) corners[k] = (unsigned short)std::lround((vertex[k] - low[k % 3]) / cell);
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
    for (int k = 0; k < 3; ++k) {
        params.bmin[k] = float(low[k]);
        params.bmax[k] = float(high[k]) + (k == 1 ? 1.0f : 0.0f);
    }
    params.cs = params.ch = cell;
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
    std::vector<double> answers(3 * size_t(size[2]));
    std::vector<float> place(query.begin(), query.end());
    int portals = 0, points = 0;
    bool is_whole = false;
    const auto find = [&](int q) {
        const dtStatus status = search->findPath(base | polygon[2 * q], base | polygon[2 * q + 1], &place[6 * q],
                                                 &place[6 * q + 3], &filter, path, &portals, MOST);
        is_whole = dtStatusSucceed(status) && !dtStatusDetail(status, DT_PARTIAL_RESULT);
    };
    const auto search_all = [&]() {
        for (int q = 0; q < size[2]; ++q) find(q);
    };
    const auto all = [&]() {
        for (int q = 0; q < size[2]; ++q) {
            find(q);
            if (is_whole)
                search->findStraightPath(&place[6 * q], &place[6 * q + 3], path, portals, straight, kind, ref, &points, MOST);
        }
    };
    for (int q = 0; q < size[2]; ++q) {
        find(q);
        dtNodePool* pool = search->getNodePool();
        double length = is_whole ? 0.0 : -1.0;
        int closed = 0;
        for (int k = 1; k <= pool->getNodeCount(); ++k) closed += (pool->getNodeAtIdx(k)->flags & DT_NODE_CLOSED) != 0;
        if (is_whole)
            search->findStraightPath(&place[6 * q], &place[6 * q + 3], path, portals, straight, kind, ref, &points, MOST);
        for (int k = 1; is_whole && k < points; ++k)
            length += std::hypot(straight[3 * k] - straight[3 * k - 3], straight[3 * k + 2] - straight[3 * k - 1]);
        answers[3 * q] = length;
        answers[3 * q + 1] = closed;
        answers[3 * q + 2] = pool->getNodeCount();
    }
    keep(given[2], answers);
    take_turns(search_all, all);
    dtFreeNavMeshQuery(search);
    dtFreeNavMesh(mesh);
    return 0;
}
