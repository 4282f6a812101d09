// Times the build of Recast [Recast 2009] on the triangles that benchmarks/soup.py writes.
//
// Recast is not part of this project. Fetch its sources, and compile them with this file:
//
//     g++ -O3 -march=native -flto -DNDEBUG -I Recast/Include benchmarks/recast_build.cpp Recast/Source/*.cpp -o recast_build
//     python benchmarks/soup.py --recast ./recast_build
//
// Called as: recast_build TRIANGLES CELL SIDE HEIGHT STEP. TRIANGLES is a file of float64, nine a triangle, z up.
// Printed: walkable spans, polygons, and the least seconds of three for spans and for polygons from them.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "Recast.h"

static double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int count, char** given) {
    if (count != 6) return 2;
    std::FILE* file = std::fopen(given[1], "rb");
    if (!file) return 2;
    std::vector<float> corner;
    double point[3];
    while (std::fread(point, sizeof(double), 3, file) == 3) {
        corner.push_back(float(point[0]));
        corner.push_back(float(point[2]));  // y is up
        corner.push_back(float(-point[1]));
    }
    std::fclose(file);
    const int corners = int(corner.size() / 3), triangles = corners / 3;
    std::vector<int> order(corners);
    for (int k = 0; k < corners; ++k) order[k] = k;
    const float cell = float(std::atof(given[2])), high = 0.05f;
    const int height = int(std::atof(given[4]) / high + 0.999f), climb = int(std::atof(given[5]) / high);
    const int radius = int(0.5f * float(std::atof(given[3])) / cell + 0.5f);
    float low[3], top[3];
    rcCalcBounds(corner.data(), corners, low, top);
    int wide = 0, deep = 0;
    rcCalcGridSize(low, top, cell, &wide, &deep);
    double least[2] = {1e9, 1e9};
    int spans = 0, polygons = 0;
    for (int round = 0; round < 3; ++round) {
        rcContext context(false);
        const double begin = seconds();
        rcHeightfield& solid = *rcAllocHeightfield();
        rcCompactHeightfield& open = *rcAllocCompactHeightfield();
        std::vector<unsigned char> areas(triangles, 0);
        if (!rcCreateHeightfield(&context, solid, wide, deep, low, top, cell, high)) return 3;
        rcMarkWalkableTriangles(&context, 45.0f, corner.data(), corners, order.data(), triangles, areas.data());
        if (!rcRasterizeTriangles(&context, corner.data(), corners, order.data(), areas.data(), triangles, solid, climb))
            return 3;
        rcFilterLowHangingWalkableObstacles(&context, climb, solid);
        rcFilterLedgeSpans(&context, height, climb, solid);
        rcFilterWalkableLowHeightSpans(&context, height, solid);
        if (!rcBuildCompactHeightfield(&context, height, climb, solid, open)) return 3;
        if (radius > 0 && !rcErodeWalkableArea(&context, radius, open)) return 3;
        const double middle = seconds();
        rcContourSet& contours = *rcAllocContourSet();
        rcPolyMesh& mesh = *rcAllocPolyMesh();
        if (!rcBuildRegionsMonotone(&context, open, 0, 8, 20)) return 3;
        if (!rcBuildContours(&context, open, 1.3f, int(12.0f / cell), contours)) return 3;
        const bool is_built = rcBuildPolyMesh(&context, contours, 6, mesh);
        const double end = seconds();
        if (middle - begin < least[0]) least[0] = middle - begin;
        if (is_built && end - middle < least[1]) least[1] = end - middle;
        spans = 0;
        for (int k = 0; k < open.spanCount; ++k) spans += open.areas[k] != RC_NULL_AREA;
        polygons = is_built ? mesh.npolys : -1;  // -1: more corners than it can number
        rcFreePolyMesh(&mesh);
        rcFreeContourSet(&contours);
        rcFreeCompactHeightfield(&open);
        rcFreeHeightField(&solid);
    }
    std::printf("%d %d %.4f %.4f\n", spans, polygons, least[0], polygons < 0 ? -1.0 : least[1]);
    return 0;
}
