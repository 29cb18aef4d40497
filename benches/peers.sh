#!/bin/sh
# Builds peers that are no Rust crates of this workspace, out of the tree, and lists their programs for
#   cargo run --release -p tautline-bench --example tasks -- --peers OUT/peers.tsv
#
#   benches/peers.sh SOURCES OUT
#
# SOURCES holds what has been fetched by hand; what is missing there is left out, with a line that says so:
#   lace/      github.com/trolando/lace         src/lace.c
#   libfork/   github.com/ConorWilliams/libfork include/libfork.hpp (a g++ or clang++ with C++20 coroutines)
#   tbb/       oneTBB, if it is not installed   usr/include, usr/lib/x86_64-linux-gnu, as in Debian's libtbb-dev
# OpenMP is that of $CC. forte comes from crates.io; it asks for a newer compiler than it needs.
#
# A program is called with a size and a number of workers. It prints nanoseconds a fork and the number of
# processors that it used.
set -eu

[ $# -eq 2 ] || { sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
sources=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
list=$out/peers.tsv
: >"$list"
CC=${CC:-gcc} CXX=${CXX:-g++}
flags='-O3 -march=native -DNDEBUG -pthread'

# A row's name, the peer, its program.
list() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$list"; }
forks() { list fib/1 "$1" "$2"; list fib/2 "$1" "$2"; }
without() { echo "without $1: $2" >&2; }
# Runs the rest with its output in a file, and says whether it went well.
build() {
    name=$1
    shift
    "$@" >"$out/$name.log" 2>&1 && return 0
    without "$name" "$out/$name.log says why"
    return 1
}

cat >"$out/timed.h" <<'C'
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* What `work` takes for each of the forks of fib(n); exits if its result is wrong. */
#define TIMED_FIB(n, work)                                                                  \
    do {                                                                                    \
        double used = seconds(CLOCK_PROCESS_CPUTIME_ID), start = seconds(CLOCK_MONOTONIC);  \
        unsigned long got = (work);                                                         \
        double wall = seconds(CLOCK_MONOTONIC) - start;                                     \
        unsigned long this_one = 0, next = 1;                                               \
        for (long i = 0; i < (n); i++) {                                                    \
            unsigned long sum = this_one + next;                                            \
            this_one = next, next = sum;                                                    \
        }                                                                                   \
        if (got != this_one) exit(1);                                                       \
        used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;                                    \
        printf("%.4f %.3f\n", 1e9 * wall / (next - 1), used / wall);                        \
    } while (0)
C

cat >"$out/calls.c" <<'C'
#include "timed.h"

static unsigned long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(int argc, char **argv) {
    volatile long n = atol(argv[argc - 2]);
    TIMED_FIB(n, fib(n));
}
C
build calls $CC $flags "$out/calls.c" -o "$out/calls" &&
    list fib/1 "calls ($($CC --version | head -1))" "$out/calls"

# Of the slow ones a smaller number is taken: figures are by the fork.
cat >"$out/openmp.c" <<'C'
#include "timed.h"
#include <omp.h>

static unsigned long fib(long n) {
    if (n < 2) return n;
    unsigned long a, b;
#pragma omp task shared(b)
    b = fib(n - 2);
    a = fib(n - 1);
#pragma omp taskwait
    return a + b;
}

int main(int argc, char **argv) {
    long n = atol(argv[argc - 2]) - 10;
    omp_set_num_threads(atoi(argv[argc - 1]));
    unsigned long result = 0;
#pragma omp parallel
#pragma omp single
    TIMED_FIB(n, (result = fib(n)));
    return result == 0;
}
C
build openmp $CC $flags -fopenmp "$out/openmp.c" -o "$out/openmp" &&
    forks "OpenMP tasks ($($CC --version | head -1))" "$out/openmp"

cat >"$out/tbb.cpp" <<'C'
#include "timed.h"
#include <oneapi/tbb.h>

static unsigned long fib(long n) {
    if (n < 2) return n;
    unsigned long a, b;
    tbb::parallel_invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
    return a + b;
}

int main(int argc, char **argv) {
    long n = atol(argv[argc - 2]) - 6;
    int workers = atoi(argv[argc - 1]);
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
    tbb::task_arena arena(workers);
    arena.execute([&] { TIMED_FIB(n, fib(n)); });
}
C
tbb=
[ -d "$sources/tbb/usr/include" ] && {
    lib=$sources/tbb/usr/lib/x86_64-linux-gnu
    tbb="-I$sources/tbb/usr/include -L$lib -Wl,-rpath,$lib"
}
build tbb $CXX $flags $tbb "$out/tbb.cpp" -ltbb -o "$out/tbb" && forks oneTBB "$out/tbb"

# Its tasks are C functions that a macro makes; the stack of each worker is the system's.
cat >"$out/lace.c" <<'C'
#include "timed.h"
#include <lace.h>

TASK_1(unsigned long, fib, long, n)
{
    if (n < 2) return n;
    SPAWN(fib, n - 1);
    unsigned long b = CALL(fib, n - 2);
    return SYNC(fib) + b;
}

int main(int argc, char **argv) {
    long n = atol(argv[argc - 2]);
    lace_start(atoi(argv[argc - 1]), 1 << 20);
    RUN(fib, 20);
    TIMED_FIB(n, RUN(fib, n));
    lace_stop();
}
C
if [ -f "$sources/lace/src/lace.c" ]; then
    version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' "$sources/lace/CMakeLists.txt" | head -1)
    # What its cmake makes of lace_config.h.in.
    sed 's/#cmakedefine01 LACE_USE_MMAP/#define LACE_USE_MMAP 1/; s/#cmakedefine01 \(.*\)/#define \1 0/; s/#cmakedefine LACE_USE_MMAP/#define LACE_USE_MMAP/; /#cmakedefine /d' \
        "$sources/lace/src/lace_config.h.in" >"$out/lace_config.h"
    build lace $CC $flags -I"$out" -I"$sources/lace/src" "$out/lace.c" "$sources/lace/src/lace.c" -o "$out/lace" &&
        forks "Lace $version" "$out/lace"
else
    without Lace "no $sources/lace/src/lace.c"
fi
