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

# Flags of StarPU 1.4 have quotes in them, for a shell.
cxx() { # arguments of the compiler
    local flags
    eval "flags=($(pkg-config --cflags "$starpu"))"
    "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror "${flags[@]}" \
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
    expected=$(<out)
    [[ $expected == *" 0 0 0" ]]
    skipped=0
    for tasks in 60 75 90; do
        STARPU_TIC_EVERY=10 resumes task-end:$tasks 1 "${expected% 0 0 0} 0 1 1" ./program
    done
    [ "$skipped" -gt 0 ]
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

# Runs ./program, which makes a table by one task, and has 40 tasks write x and 40 tell of it, until a
# line of 40 tasks or more is there, and again: tells DECLARATION LEAST-TOLD MOST-TOLD LEAST-AGAIN MOST-AGAIN.
tells() {
    local told again
    rm -rf "$STARPU_TIC_DIR"
    STARPU_NCPU=1 STARPU_TIC_SCHED=eager STARPU_TIC_EVERY=20 crash line-renamed:2 ./program "$1"
    [ "$("$tool" info --json "$STARPU_TIC_DIR" | jq '.lines[0].bytes')" -eq 8 ] || complain "$1" "the table is saved"
    run_apart ./program "$1"
    is_right "$expected" yes || complain "$1" wrong
    told=$(sed -n 's/^told \([0-9]*\) times$/\1/p' err)
    [ "$told" -ge "$2" ] && [ "$told" -le "$3" ] || complain "$1" "told $told times"
    again=$(stat_of tasks_executed_again)
    [ "$again" -ge "$4" ] && [ "$again" -le "$5" ] || complain "$1" "$again tasks again"
}

# The task that makes the table is executed again in any case.
have_effect() {
    need_jq
    STARPU_TIC_PROTOCOL=off run_apart ./program none
    expected=$(<out)
    grep -q '^told 40 times$' err
    tells skip 0 25 1 1
    tells none 40 40 15 41
    tells effects 40 40 15 41
    export STARPU_TIC_RERUN=0 STARPU_TIC_POINTERS=trust # tasks that tell write memory of the program
    tells none 0 25 1 1
    tells effects 40 40 15 41
}

@test "C++: what is declared of codelets and data has its effect" {
    need_cxx
    cat >program.cpp <<'END'
#include "starpu_tic.hpp"
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>
static std::atomic<int> told;
struct Generate {
    void operator()(ft::Write<float[]> table)
    {
        float next = 1;
        for (float &e : table)
            e = next = next * 0.9f + 1;
    }
};
struct Add {
    void operator()(ft::ReadWrite<double> x, ft::Read<float[]> table, int i)
    {
        x.access() = x.read() * 0.5 + table[static_cast<std::size_t>(i)];
    }
};
struct Tell {
    void operator()(ft::Read<double> x)
    {
        told += x.read() > 0;
    }
};
int main(int, char **argv)
{
    std::vector<float> elements(10000);
    double x = 1;
    starpu_tic::Runtime runtime;
    if (!std::strcmp(argv[1], "skip"))
        ft::can_skip<Tell>();
    if (!std::strcmp(argv[1], "effects"))
        ft::has_effects<Tell>();
    {
        starpu_tic::Variable<double> variable(x);
        starpu_tic::Vector<float> table(elements);
        table.exclude();
        ft::Fork<Generate>(table);
        for (int i = 0; i < 40; i++) {
            ft::Fork<Add>(variable, table, i);
            ft::Fork<Tell>(variable);
        }
    }
    std::printf("%.17g %.9g\n", x, elements[39]);
    std::fprintf(stderr, "told %d times\n", told.load());
}
END
    cxx -O1 program.cpp -o program -L"$TIC_BUILD/.libs" -Wl,-rpath,"$TIC_BUILD/.libs" -Wl,--no-as-needed \
        -lstarputic $(pkg-config --libs "$starpu")
    have_effect
}

# ---- Fortran ------------------------------------------------------------------------------------

@test "Fortran: what is declared of codelets and data has its effect" {
    [ -x "$TIC_BUILD/examples/09_fortran" ] || skip "no Fortran compiler, or no module of StarPU for it"
    cat >program.f90 <<'END'
module kernels
    use, intrinsic :: iso_c_binding
    use fstarpu_mod
    implicit none
    integer :: told = 0
contains
    recursive subroutine generate(buffers, arguments) bind(c)
        type(c_ptr), value, intent(in) :: buffers, arguments
        real(c_float), pointer :: table(:)
        integer :: i
        if (c_associated(arguments)) return ! there are none
        call c_f_pointer(fstarpu_vector_get_ptr(buffers, 0), table, [fstarpu_vector_get_nx(buffers, 0)])
        table(1) = 1.9
        do i = 2, size(table)
            table(i) = table(i - 1) * 0.9 + 1
        end do
    end subroutine generate
    recursive subroutine add(buffers, arguments) bind(c)
        type(c_ptr), value, intent(in) :: buffers, arguments
        real(c_double), pointer :: x
        real(c_float), pointer :: table(:)
        if (c_associated(arguments)) return
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 0), x)
        call c_f_pointer(fstarpu_vector_get_ptr(buffers, 1), table, [fstarpu_vector_get_nx(buffers, 1)])
        x = x * 0.5 + table(1 + mod(int(x * 1000), size(table)))
    end subroutine add
    recursive subroutine tell(buffers, arguments) bind(c)
        type(c_ptr), value, intent(in) :: buffers, arguments
        real(c_double), pointer :: x
        if (c_associated(arguments)) return
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 0), x)
        if (x > 0) told = told + 1
    end subroutine tell
end module kernels

program main
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use fstarpu_mod
    use starpu_tic_mod
    use kernels
    implicit none
    real(c_float), allocatable, target :: table(:)
    real(c_double), target :: x = 1
    type(c_ptr) :: generator, adder, teller, xs, tables
    character(len=20) :: mode
    integer :: i
    integer(c_int) :: status = 0

    call get_command_argument(1, mode)
    allocate (table(10000))
    table = 0
    if (fstarpu_init(c_null_ptr) /= 0) stop 77
    generator = codelet(c_char_'generate'//c_null_char, c_funloc(generate), FSTARPU_W, c_null_ptr)
    adder = codelet(c_char_'add'//c_null_char, c_funloc(add), FSTARPU_RW, FSTARPU_R)
    teller = codelet(c_char_'tell'//c_null_char, c_funloc(tell), FSTARPU_R, c_null_ptr)
    if (mode == 'skip') status = starpu_tic_codelet_can_skip(teller)
    if (mode == 'effects') status = starpu_tic_codelet_has_effects(teller)
    if (status /= 0) stop 1
    call fstarpu_variable_data_register(xs, 0, c_loc(x), c_sizeof(x))
    call fstarpu_vector_data_register(tables, 0, c_loc(table), size(table), c_sizeof(table(1)))
    status = starpu_tic_data_exclude(tables) ! not 0 where this run is not protected
    call fstarpu_task_insert([generator, FSTARPU_W, tables, c_null_ptr])
    do i = 1, 40
        call fstarpu_task_insert([adder, FSTARPU_RW, xs, FSTARPU_R, tables, c_null_ptr])
        call fstarpu_task_insert([teller, FSTARPU_R, xs, c_null_ptr])
    end do
    call fstarpu_data_unregister(xs)
    call fstarpu_data_unregister(tables)
    call fstarpu_shutdown()
    print '(es24.16,es16.8)', x, table(40)
    write (error_unit, '(a,i0,a)') 'told ', told, ' times'
contains
    function codelet(name, function, mode, other) result(it)
        character(kind=c_char, len=*), intent(in) :: name ! StarPU keeps its address
        type(c_funptr), intent(in) :: function
        type(c_ptr), intent(in) :: mode, other
        type(c_ptr) :: it
        it = fstarpu_codelet_allocate()
        call fstarpu_codelet_set_name(it, name)
        call fstarpu_codelet_add_cpu_func(it, function)
        call fstarpu_codelet_add_buffer(it, mode)
        if (c_associated(other)) call fstarpu_codelet_add_buffer(it, other)
    end function codelet
end program main
END
    modules=$TIC_BUILD/examples/fortran
    $(sed -n 's/^FC = //p' "$TIC_BUILD/Makefile") -O1 -fPIC -I"$modules" program.f90 "$modules/fstarpu_mod.o" \
        "$modules/starpu_tic_mod.o" -o program -L"$TIC_BUILD/.libs" -Wl,-rpath,"$TIC_BUILD/.libs" -Wl,--no-as-needed \
        -lstarputic $(pkg-config --libs "$starpu")
    have_effect
}

# ---- Python -------------------------------------------------------------------------------------

# A store with a log of every result, of a program that was killed.
make_store() {
    export STARPU_TIC_EVERY=20 STARPU_TIC_PROTOCOL=tic+sel STARPU_TIC_VERIFY=0
    crash line-renamed:3 "$TIC_BUILD/examples/02_cholesky"
    PATH=$TIC_BUILD:$PATH
}

@test "Python: lines, values and the event log are what the command tells" {
    need_h5py
    make_store
    python - <<'END'
import json, os, subprocess, numpy, starpu_tic
directory = os.environ["STARPU_TIC_DIR"]
store = starpu_tic.Store(directory)
info = store.info()
told = {line["number"]: line for line in info["lines"]}
assert store.numbers == sorted(told) and len(store.lines) == len(told)
for line in store.lines:
    for name in ("created", "program", "directory", "host", "version", "starpu", "workers", "tasks_done",
                 "tasks_submitted", "runs"):
        assert line.attributes[name] == told[line.number][name], name
    assert line.arguments == told[line.number]["arguments"] == []
    assert len(line.handles) == told[line.number]["handles"]
    assert sum(line.array(handle).nbytes for handle in line.handles) == told[line.number]["bytes"]
    done = line.done
    assert (done["last"] - done["first"] + 1).sum() == line.attributes["tasks_done"]
line = store.newest()
tile = line.array(line.handles[0], "float64")
assert tile.shape == (32, 32) and line.array(line.handles[0]).dtype == numpy.uint64
assert line.version(0) == 1 and tile[0, 0] == 384**0.5 and not numpy.triu(tile, 1).any()  # potrf has run
events = store.events()
for event in ("created", "started", "finished"):
    assert (events["event"] == event).sum() == info["log"]["tasks_" + event], event
created = events[events["event"] == "created"]
assert set(created["codelet"]) == {"potrf", "trsm", "syrk", "gemm"} and created["worker"].max() == -1
assert (numpy.diff(events["time"]) >= 0).all() and store.verify()
END
}

@test "Python: the graph is that of the program" {
    need_h5py
    python -c 'import networkx' 2>/dev/null || skip "no python3-networkx"
    make_store
    python - <<'END'
import os, networkx, starpu_tic
store = starpu_tic.Store(os.environ["STARPU_TIC_DIR"])
graph = store.graph()
tasks = [node for node in graph if node[0] == "task"]
assert networkx.is_directed_acyclic_graph(graph) and len(tasks) == 12 + 2 * 66 + 220
assert list(graph.predecessors(("task", 1))) == [("data", 0, 1), ("data", 1, 0)]  # trsm after potrf
finished = sum(graph.nodes[task]["state"] == "finished" for task in tasks)
assert finished == store.info()["log"]["tasks_finished"] > 0
path = [node for node in networkx.dag_longest_path(graph) if node[0] == "task"]
assert len(path) == 3 * 12 - 2  # potrf, trsm, syrk for each column
END
}

@test "Python: runs and supervises programs; damage and nonsense are told" {
    need_h5py
    PATH=$TIC_BUILD:$PATH
    unset STARPU_TIC_DIR STARPU_TIC_STATS
    TIC_EXAMPLE=$TIC_BUILD/examples/04_knary python - <<'END'
import glob, os, shutil, starpu_tic
command = [os.environ["TIC_EXAMPLE"], "4", "3"]
settings = {"dir": "store", "every": 20, "capture_output": True}
plain = starpu_tic.run(command, protocol="off", **settings)
assert plain.status == 0 and plain.stdout and not plain.recovered
killed = starpu_tic.run(command, fail="line-renamed:1", **settings)
assert killed.status == -9 and not killed.recovered and killed.statistics == {}
shutil.copytree("store", "damaged")
refused = starpu_tic.run([*command[:2], "4"], **settings)
assert refused.status == starpu_tic.REFUSED and b"argument" in refused.stderr
ended = starpu_tic.supervise(command, 9, backoff=0, fail="line-renamed:1", **settings)
assert ended.status == 0 and ended.stdout == plain.stdout and ended.recovered
assert ended.statistics["tasks_skipped"] > 0 and not os.path.exists("store")
try:
    starpu_tic.Store("store").newest()
    assert False
except FileNotFoundError as error:
    assert "no recovery line" in str(error)
store = starpu_tic.Store("damaged")
newest = max(glob.glob("damaged/p0-line-*.h5"))
for place, content in ((0, b"S"), (len("starpu-tic recovery line\nformat "), b"9")):
    with open(newest, "r+b") as file:
        file.seek(place)
        file.write(content)
    try:
        store.newest()
        assert False
    except starpu_tic.Damaged as error:
        assert newest in str(error)
assert not store.verify()
END
    run python -m starpu_tic value damaged 0
    [ "$status" -eq 1 ]
    [[ $output == *"no recovery line"* ]]
    run python -m starpu_tic value damaged
    [ "$status" -eq 1 ]
    [[ $output == *"lines DIRECTORY"* ]]
}

@test "Python: pip installs the module, with the version of the command" {
    need_h5py
    /usr/bin/python3 -c 'import setuptools as s, pip, wheel; assert int(s.__version__.split(".")[0]) >= 61' \
        2>/dev/null || skip "no python3-pip, or an old python3-setuptools"
    cp -r "$top/bindings/python" source
    chmod -R u+w source
    run /usr/bin/python3 -m pip install --quiet --no-index --no-build-isolation --no-deps --target installed ./source
    echo "$output"
    [ "$status" -eq 0 ]
    PYTHONPATH=installed /usr/bin/python3 -c 'import starpu_tic; print("starpu-tic", starpu_tic.__version__)' >version
    [ "$(<version)" = "$("$tool" --version)" ]
    [ -e "installed/starpu_tic-$(cut -d ' ' -f 2 version).dist-info" ]
}

# ---- CMake --------------------------------------------------------------------------------------

@test "CMake: a project that links an installed copy, which was moved, is protected" {
    command -v cmake >/dev/null || skip "no cmake"
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$TIC_BUILD" install DESTDIR="$PWD/root" >installation 2>&1
    prefix=$(find root -path '*/lib*/cmake/starputic' | sed 's,/lib[^/]*/cmake/starputic$,,;q')
    mv "$prefix" moved
    mkdir project
    cp "$top/examples/08_api.c" project/program.c
    cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(program C)
find_package(starputic 0.2 REQUIRED)
if(NOT starputic_VERSION VERSION_EQUAL "${EXPECTED}")
    message(FATAL_ERROR "version ${starputic_VERSION}")
endif()
find_package(starputic 9.0 QUIET)
if(starputic_FOUND)
    message(FATAL_ERROR "any version is taken")
endif()
find_package(starputic REQUIRED)
add_executable(program program.c)
target_link_libraries(program starputic::starputic)
END
    run cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$PWD/moved" -DCMAKE_BUILD_TYPE=Release \
        -DEXPECTED="$("$tool" --version | cut -d ' ' -f 2)"
    echo "$output"
    [ "$status" -eq 0 ]
    run cmake --build project/build
    echo "$output"
    [ "$status" -eq 0 ]
    STARPU_TIC_PROTOCOL=off run_apart project/build/program
    cp out expected
    STARPU_TIC_EVERY=16 STARPU_TIC_FAIL=line-renamed:1 run project/build/program
    [ "$status" -eq 137 ]
    run_apart project/build/program
    [ "$status" -eq 0 ] && cmp out expected
    [ "$(stat_of recovered)" = true ]
}
