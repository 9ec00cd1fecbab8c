#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks the bindings beyond their examples, as their users build and run them.
load common

top=$BATS_TEST_DIRNAME/../..
starpu=starpu-$(sed -n 's/^#define PACKAGE_STARPU_VERSION "\(.*\)"/\1/p' "$TIC_BUILD/config.h")

# ---- C++ ----------------------------------------------------------------------------------------

need_cxx() {
    [ -x "$TIC_BUILD/examples/10_cpp_fork_shared" ] || skip "no compiler of C++17"
}

cxx() { # arguments of the compiler
    # shellcheck disable=SC2046 # flags are words
    "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags "$starpu") \
        -I"$top/plugin/include" -I"$top/bindings/cpp" "$@"
}

@test "C++: accesses, arguments, moved data; a program that is not protected is told so" {
    need_cxx
    cat >program.cpp <<'END'
#include "starpu_tic.hpp"
#include <cstdio>
#include <vector>
struct Pair { int a; double b; };
struct Step {
    void operator()(Pair pair, ft::ReadWrite<double> x, long times, ft::ReadWrite<float[]> v,
                    ft::Read<Pair> more) const
    {
        for (long i = 0; i < times; i++)
            x.access() = x.read() * pair.b + pair.a + more.read().a;
        for (float &e : v)
            e += static_cast<float>(x.read());
    }
};
struct Ends {
    void operator()(ft::Read<float[]> v, ft::Write<double> sum)
    {
        sum.write(v[0] + v[v.size() - 1]);
    }
};
int main()
{
    std::vector<float> elements(100, 1);
    double x = 1, ends;
    starpu_tic::Status before;
    starpu_tic::Runtime runtime;
    {
        starpu_tic::Variable<double> first(x), variable(std::move(first));
        starpu_tic::Vector<float> vector(elements);
        ft::Shared<Pair> more(Pair{1, 0});
        ft::Shared<double> sum;
        for (int i = 0; i < 100; i++)
            ft::Fork<Step>(Pair{i % 3, 0.5}, variable, 3, vector, more); /* 3 becomes a long */
        ft::Fork<Ends>(vector, sum);
        ends = sum.read();
        starpu_tic::Access access(variable, STARPU_R);
        std::printf("%.17g %.17g ", x, ends);
    }
    starpu_tic::Status status;
    std::printf("%.9g %d %d %d\n", elements[99], before.is_protected(), status.is_protected(),
                starpu_tic::CheckpointRequest().accepted());
}
END
    cxx -O1 program.cpp -o program -L"$TIC_BUILD/.libs" -Wl,-rpath,"$TIC_BUILD/.libs" -Wl,--no-as-needed \
        -lstarputic $(pkg-config --libs "$starpu")
    STARPU_TIC_PROTOCOL=off run_apart ./program
    [ "$status" -eq 0 ]
    expected=$(cat out)
    [[ $expected == *" 0 0 0" ]]
    skipped=0
    STARPU_TIC_EVERY=10 resumes task-end:75 1 "${expected% 0 0 0} 0 1 1" ./program
    [ "$skipped" -ge 60 ]
}

@test "C++: what cannot be restored does not compile" {
    need_cxx
    head='#include "starpu_tic.hpp"
          struct Task { void operator()(ft::Read<int> i, double d) { (void)i; (void)d; } };
          struct Takes { void operator()(int *pointer) { (void)pointer; } };
          struct Virtual { virtual ~Virtual() {} };'
    printf '%s\nvoid f(ft::Shared<int> &i) { ft::Fork<Task>(i, 1.5); }\n' "$head" >right.cpp
    cxx -fsyntax-only right.cpp
    for body in 'ft::Fork<Task>(l, 1.5);' 'ft::Fork<Task>(i);' 'ft::Fork<Takes>(&number);' \
        'ft::Read<int>(nullptr).write(1);' 'ft::Shared<Virtual> v;'; do
        printf '%s\nvoid f(ft::Shared<int> &i, ft::Shared<long> &l, int number) { (void)i; (void)l; (void)number; %s }\n' \
            "$head" "$body" >wrong.cpp
        run cxx -fsyntax-only wrong.cpp
        [ "$status" -ne 0 ]
        [[ $output == *"static assertion failed"* ]] || complain "$body" "$output"
    done
}
