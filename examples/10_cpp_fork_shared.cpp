/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fork and Shared, the style of Athapascan and of the papers on which starpu-tic is built, in C++:
 * the integral of 4 / (1 + x^2) over [0, 1], by halves. Shared values without content of their own
 * are made by tasks for tasks. The program also tells how far a continued run is.
 *
 *   c++ -std=c++17 10_cpp_fork_shared.cpp $(pkg-config --cflags --libs starputic starpu-1.3) \
 *       -o 10_cpp_fork_shared
 *   STARPU_TIC_PROTOCOL=off ./10_cpp_fork_shared [DEPTH]                 plain
 *   ./10_cpp_fork_shared                                                 protected
 *   STARPU_TIC_EVERY=30 STARPU_TIC_FAIL=task-end:200 ./10_cpp_fork_shared    killed after 200 tasks
 *   ./10_cpp_fork_shared                                                 resumed */
#include "starpu_tic.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

/* The integral over [low, high] by the midpoint rule, and a tally of the leaves by their place. */
struct Integrate {
    void operator()(double low, double high, ft::Write<double> result, ft::Cumulative<long[]> tally)
    {
        constexpr int points = 10000;
        double sum = 0;

        for (int i = 0; i < points; i++) {
            double x = low + (high - low) * (i + 0.5) / points;
            sum += 4 / (1 + x * x);
        }
        result.write(sum * (high - low) / points);
        tally[static_cast<std::size_t>(low * static_cast<double>(tally.size()))]++;
    }
};

struct Add {
    void operator()(ft::Read<double> left, ft::Read<double> right, ft::Write<double> sum)
    {
        sum.write(left.read() + right.read());
    }
};

static void integrate(double low, double high, int depth, const ft::Shared<double> &result,
                      const starpu_tic::Vector<long> &tally)
{
    if (depth == 0) {
        ft::Fork<Integrate>(low, high, result, tally);
        return;
    }
    ft::Shared<double> left, right;
    double middle = (low + high) / 2;
    integrate(low, middle, depth - 1, left, tally);
    integrate(middle, high, depth - 1, right, tally);
    ft::Fork<Add>(left, right, result);
} /* left and right go when Add has read them; nobody waits here */

int main(int argc, char **argv)
{
    int depth = argc > 1 ? std::atoi(argv[1]) : 7;
    std::vector<long> leaves(4);
    starpu_tic::Runtime runtime;
    starpu_tic::Vector<long> tally(leaves);
    ft::Shared<double> pi(0.0);

    for (int pass = 0; pass < 2; pass++) {
        integrate(0, 1, depth, pi, tally);
        runtime.wait_for_all();
        starpu_tic::Status status;
        if (status.recovered())
            std::fprintf(stderr, "pass %d: %llu of %llu tasks skipped\n", pass,
                         static_cast<unsigned long long>(status.skipped_tasks()),
                         static_cast<unsigned long long>(status.recovered_tasks()));
        starpu_tic::CheckpointRequest();
    }
    tally.unregister();
    std::printf("%.17g", pi.read());
    for (long count : leaves)
        std::printf(" %ld", count);
    std::printf("\n");
    return 0;
}
