#!/bin/sh
# Builds peers that are no Rust crates of this workspace, out of the tree, and lists their programs for
#   cargo run --release -p tautline-bench --example tasks -- --peers OUT/peers.tsv
#   cargo run --release -p tautline-bench --example phasers -- --peers OUT/peers.tsv
#   cargo run --release -p tautline-bench --example schedules -- --peers OUT/peers.tsv
#   cargo run --release -p tautline-bench --example processes -- --peers OUT/peers.tsv
#   cargo run --release -p tautline-bench --example objects -- --peers OUT/peers.tsv
#   cargo run --release -p tautline-bench --features dense --example cholesky -- --peers OUT/peers.tsv
#
#   benches/peers.sh SOURCES OUT
#
# SOURCES holds what has been fetched by hand; what is missing there is left out, with a line that reports it:
#   lace/      github.com/trolando/lace         src/lace.c
#   libfork/   github.com/ConorWilliams/libfork single_header/libfork.hpp
#   uts/       github.com/perarnau/uts          mpi_workstealing.c, if there are mpicc and mpirun of Open MPI
#   ygm/       github.com/LLNL/ygm              include, with Debian's libcereal-dev and libboost-dev; measured: 72826a99b, 0.7
#   graph500/  github.com/graph500/graph500     README, src, generator, aml; measured: f89d643ce, 3.0.1, whose README has 3.0.0
#   bale/      github.com/jdevinney/bale        src/bale_classic, if there are oshcc, oshrun and autoreconf; measured: 1b8f673b5
#   tbb/       oneTBB, if it is not installed   usr/include, usr/lib/x86_64-linux-gnu, as in Debian's libtbb-dev
# OpenMP is that of $CC; its barriers are those of all compilers in $OPENMP, else of $CC, clang-19 and clang. Java is that
# of javac, RandomAccess of HPCC that of Debian's package hpcc. forte comes from crates.io, and requires a newer compiler
# than it needs: CARGO= leaves it out. How peers over ranks are built: peers/ranks.sh; those of shared objects, also of MPICH:
# peers/objects.sh.
#
# OpenBLAS is that of Debian's libopenblas-dev, or of the folder $OPENBLAS. Its name has its kernels: for processors that it
# does not know those of Prescott, which are slow; $OPENBLAS_CORETYPE chooses others, as SkylakeX.
#
# A program is called with a size and a number of workers. It prints the figure of its row and the number of
# processors that it used; those over ranks: peers/ranks.sh. The n-th worker stays on the n-th processor. Paths must have no
# spaces. A name has the version of the sources, and their revision if they are a checkout.
# libfork needs coroutines that g++ 12 compiles badly: LIBFORK_CXX names another compiler, else clang++-19 if there is one.
set -eu

[ $# -eq 2 ] || { sed -n '2,31s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
sources=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
list=$out/peers.tsv
: >"$list"
CC=${CC:-gcc} CXX=${CXX:-g++} CARGO=${CARGO-cargo}
flags='-O3 -march=native -DNDEBUG -D_GNU_SOURCE -pthread'

# A row's name, the peer, its program.
list() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$list"; }
forks() { list fib/1 "$1" "$2"; list fib/2 "$1" "$2"; }
without() { echo "without $1: $2" >&2; }
# Runs the rest with its output in a file, and reports whether it succeeded.
build() {
    name=$1
    shift
    "$@" >"$out/$name.log" 2>&1 && return 0
    without "$name" "$out/$name.log has the reason"
    return 1
}

cat >"$out/timed.h" <<'C'
#pragma once
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

/* Keeps the n-th thread of this process on the n-th processor allowed, in turn, as the table's own contenders do. The
   first `skip` threads work only outside of what is timed. */
static void pin_threads(int skip) {
    cpu_set_t allowed, one;
    int processors[CPU_SETSIZE], known = 0, count = 0;
    long threads[4096];
    if (sched_getaffinity(0, sizeof allowed, &allowed)) exit(1);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed)) processors[known++] = i;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        long thread = atol(entry->d_name);
        if (thread <= 0 || count == 4096) continue;
        int at = count++;
        for (; at > 0 && threads[at - 1] > thread; at--) threads[at] = threads[at - 1];
        threads[at] = thread;
    }
    if (tasks) closedir(tasks);
    for (int i = skip; i < count; i++) {
        CPU_ZERO(&one);
        CPU_SET(processors[(i - skip) % known], &one);
        if (sched_setaffinity((pid_t)threads[i], sizeof one, &one)) exit(1);
    }
}

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
    pin_threads(0);
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
    /* All threads are there after the first region. */
#pragma omp parallel
#pragma omp single
    result = fib(16);
    pin_threads(0);
#pragma omp parallel
#pragma omp single
    TIMED_FIB(n, (result = fib(n)));
    return result == 0;
}
C
build openmp $CC $flags -fopenmp "$out/openmp.c" -o "$out/openmp" &&
    forks "OpenMP tasks ($($CC --version | head -1))" "$out/openmp"

build dpotrf $CC $flags "$here/peers/dpotrf.c" ${OPENBLAS:+-L"$OPENBLAS" -Wl,-rpath,"$OPENBLAS"} -lopenblas -lm \
    -o "$out/dpotrf" && {
    program="${OPENBLAS_CORETYPE:+env OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE }$out/dpotrf"
    list cholesky "$($program --name)" "$program"
}

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
    /* All threads are there after some work. */
    arena.execute([&] { if (fib(24) == 0) exit(1); });
    pin_threads(0);
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
    pin_threads(1);
    TIMED_FIB(n, RUN(fib, n));
    lace_stop();
}
C
if [ -f "$sources/lace/src/lace.c" ]; then
    version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' "$sources/lace/CMakeLists.txt" | head -1)
    # What its cmake makes of lace_config.h.in, where no option is set.
    sed 's/#cmakedefine01 \(.*\)/#define \1 0/' "$sources/lace/src/lace_config.h.in" >"$out/lace_config.h"
    build lace $CC $flags -DLACE_USE_MMAP=1 -I"$out" -I"$sources/lace/src" \
        "$out/lace.c" "$sources/lace/src/lace.c" -o "$out/lace" &&
        forks "Lace $version" "$out/lace"
else
    without Lace "no $sources/lace/src/lace.c"
fi

cat >"$out/libfork.cpp" <<'C'
#include "timed.h"
#include <libfork.hpp>

inline constexpr auto fib = [](auto fib, long n) -> lf::task<unsigned long> {
    if (n < 2) co_return n;
    unsigned long a, b;
    co_await lf::fork(&a, fib)(n - 1);
    co_await lf::call(&b, fib)(n - 2);
    co_await lf::join;
    co_return a + b;
};

int main(int argc, char **argv) {
    long n = atol(argv[argc - 2]);
    lf::lazy_pool pool(atoi(argv[argc - 1]));
    if (lf::sync_wait(pool, fib, 20) != 6765) exit(1);
    pin_threads(1);
    TIMED_FIB(n, lf::sync_wait(pool, fib, n));
}
C
if [ -f "$sources/libfork/single_header/libfork.hpp" ]; then
    compiler=${LIBFORK_CXX:-$(command -v clang++-19 || echo "$CXX -fcoroutines")}
    build libfork $compiler -std=c++20 $flags -I"$sources/libfork/single_header" \
        "$out/libfork.cpp" -o "$out/libfork" && forks "libfork ($($compiler --version | head -1))" "$out/libfork"
else
    without libfork "no $sources/libfork/single_header/libfork.hpp"
fi

. "$here/peers/ranks.sh"
. "$here/peers/objects.sh"

# Barriers and sums of the threads of all ranks: ranks of one thread, and ranks with a team of OpenMP each.
cat >"$out/mpi_hybrid.c" <<'C'
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { _Alignas(128) long value; } Slot;

int main(int argc, char **argv) {
    int granted, here, ranks, threads = omp_get_max_threads(), sums = strcmp(argv[1], "sum") == 0;
    long episodes = atol(argv[2]), warm_up = episodes / 10 + 100;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &here);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Slot *slots = calloc(threads, sizeof *slots);
    volatile long sum = 0, count = (long)ranks * threads;
    double start = 0;
#pragma omp parallel num_threads(threads)
    {
        int thread = omp_get_thread_num();
        for (long i = 0; i < warm_up + episodes; i++) {
            if (thread == 0 && i == warm_up) start = MPI_Wtime();
            slots[thread].value = i + (long)here * threads + thread;
            if (threads > 1) {
#pragma omp barrier
            }
            if (thread == 0) {
                long own = 0, all = 0;
                for (int t = 0; sums && t < threads; t++) own += slots[t].value;
                if (sums) MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
                else MPI_Barrier(MPI_COMM_WORLD);
                sum = all;
            }
            if (threads > 1) {
#pragma omp barrier
            }
            if (sums && sum != count * i + count * (count - 1) / 2) exit(1);
        }
    }
    if (here == 0) printf("%.2f\n", 1e9 * (MPI_Wtime() - start) / episodes);
    MPI_Finalize();
}
C
cat >"$out/mpi-hybrid.sh" <<SH
#!/bin/sh
# A way, what, ranks, episodes, threads in all.
unset OMP_PLACES
export OMP_WAIT_POLICY OMP_PROC_BIND=false
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks=\$3 OMP_NUM_THREADS=\$((\$5 / \$3))
[ "\$1" = teams ] || ranks=\$5 OMP_NUM_THREADS=1
# Where threads share processors, none spins.
how='--oversubscribe --bind-to none --mca mpi_yield_when_idle 1' OMP_WAIT_POLICY=passive
[ "\$5" -gt "\$(nproc)" ] || how="--map-by slot:PE=\$OMP_NUM_THREADS --bind-to core" OMP_WAIT_POLICY= OMP_PROC_BIND=true
[ -n "\$OMP_WAIT_POLICY" ] || unset OMP_WAIT_POLICY
export OMP_NUM_THREADS
exec mpirun -n "\$ranks" \$how "$out/mpi-hybrid" "\$2" "\${4}0"
SH
chmod +x "$out/mpi-hybrid.sh"
if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    mpi="MPI ($(mpirun --version | head -1))"
    teams="MPI and OpenMP ($(mpirun --version | head -1), $(mpicc --version | head -1))"
    build mpi-hybrid mpicc -O3 -fopenmp "$out/mpi_hybrid.c" -o "$out/mpi-hybrid" && for ranks in 2 4; do
        for what in barrier sum; do
            row=hybrid-$ranks
            [ $what = barrier ] || row=hybrid-sum-$ranks
            list $row "$mpi" "$out/mpi-hybrid.sh flat $what $ranks"
            list $row "$teams" "$out/mpi-hybrid.sh teams $what $ranks"
        done
    done
fi

# Barriers. A program is called with a number of episodes and one of threads, prints the nanoseconds of an episode, and
# keeps its n-th thread on the n-th processor of OMP_PLACES, or of those allowed, in turn.
cat >"$out/barrier.h" <<'C'
#pragma once
#include "timed.h"
#include <ctype.h>
#include <sched.h>

static int processors[CPU_SETSIZE], known;

static void find_processors(void) {
    const char *at = getenv("OMP_PLACES");
    while (at && *at && known < CPU_SETSIZE) {
        char *end = (char *)at + 1;
        if (isdigit((unsigned char)*at)) processors[known++] = (int)strtol(at, &end, 10);
        at = end;
    }
    cpu_set_t allowed;
    if (known || sched_getaffinity(0, sizeof allowed, &allowed)) return;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed)) processors[known++] = i;
}

static void pin(int thread) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[thread % known], &one);
    if (sched_setaffinity(0, sizeof one, &one)) exit(1);
}

/* One thread's part; thread 0 prints. */
#define TIMED_EPISODES(episodes, thread, wait)                                              \
    do {                                                                                    \
        pin(thread);                                                                        \
        for (long i = 0; i < (episodes) / 10 + 1; i++) { wait; }                            \
        double start = seconds(CLOCK_MONOTONIC);                                            \
        for (long i = 0; i < (episodes); i++) __asm__ volatile("" : : "r"(i));              \
        double alone = seconds(CLOCK_MONOTONIC) - start;                                    \
        { wait; }                                                                           \
        double used = seconds(CLOCK_PROCESS_CPUTIME_ID);                                    \
        start = seconds(CLOCK_MONOTONIC);                                                   \
        for (long i = 0; i < (episodes); i++) { __asm__ volatile("" : : "r"(i)); wait; }    \
        double wall = seconds(CLOCK_MONOTONIC) - start;                                     \
        used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;                                    \
        if ((thread) == 0) printf("%.2f %.3f\n", 1e9 * (wall - alone) / (episodes), used / wall); \
    } while (0)
C

cat >"$out/omp_barrier.c" <<'C'
#include "barrier.h"
#include <omp.h>

int main(int argc, char **argv) {
    long episodes = atol(argv[argc - 2]);
    int threads = atoi(argv[argc - 1]);
    find_processors();
    omp_set_dynamic(0);
#pragma omp parallel num_threads(threads)
    {
        if (omp_get_num_threads() != threads) exit(1);
        TIMED_EPISODES(episodes, omp_get_thread_num(), _Pragma("omp barrier"));
    }
}
C
for compiler in ${OPENMP:-$CC clang-19 clang}; do
    command -v "$compiler" >/dev/null || { without "OpenMP barrier of $compiler" 'no such compiler'; continue; }
    build "barrier-$compiler" "$compiler" $flags -fopenmp "$out/omp_barrier.c" -o "$out/barrier-$compiler" &&
        for policy in active default passive; do
            variable="OMP_WAIT_POLICY=$policy"
            [ $policy = default ] && variable='-u OMP_WAIT_POLICY'
            list barrier "OpenMP ($("$compiler" --version | head -1)), wait policy $policy" "env $variable $out/barrier-$compiler"
        done
done

# Parallel loops. A program is called with the name of a loop, its length, a number of executions and one of threads, and prints the
# nanoseconds of the median execution. The iterations are those of common/iterations.rs; without contraction, since a chain of
# fused operations has another latency.
cat >"$out/omp_loops.c" <<'C'
#include "barrier.h"
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

static double steps(long n) {
    volatile double one = 1.0;
    double x = one;
    for (long i = 0; i < n; i++) x = x * 0.999 + 0.001;
    return x;
}

static long mandelbrot(long row) {
    double y = row / 512.0 - 1.0;
    long sum = 0;
    for (long column = 0; column < 512; column++) {
        double x = column / 256.0 - 1.5, a = 0, b = 0;
        long turns = 0;
        for (; turns < 200; turns++) {
            double next = a * a - b * b + x;
            b = 2 * a * b + y, a = next;
            if (a * a + b * b > 4) break;
        }
        sum += turns;
    }
    return sum;
}

static const char *const names[] = {"even",     "rising",  "falling", "geometric", "bimodal", "hot spot",
                                    "hot end", "waves", "mandel",  "fine",      "short"};

static long cost(int loop, long i, long n) {
    switch (loop) {
    case 0: return 1000;
    case 1: return 2000 * i / n;
    case 2: return 2000 - 2000 * i / n;
    case 3: return 4 * (long)(-256 * log(1 - (double)((uint64_t)(i + 1) * 0x9e3779b97f4a7c15u >> 11) / (1L << 53)));
    case 4: return i * 7919 % 10 == 0 ? 8000 : 200;
    case 5: return i * 10 / n == 3 ? 8000 : 200;
    case 6: return i * 20 / n == 19 ? 15000 : 250;
    default: return 1000 + (long)(900 * sin(i / (double)n * 40));
    }
}

#define USE(value)                           \
    do {                                     \
        __typeof__(value) it = (value);      \
        __asm__ volatile("" : : "r,m"(it)); \
    } while (0)
#define LOOP(body) _Pragma("omp parallel for schedule(runtime)") for (long i = 0; i < n; i++) body

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const char *name = argv[argc - 4];
    long n = atol(argv[argc - 3]), rounds = atol(argv[argc - 2]);
    int threads = atoi(argv[argc - 1]), loop = 0;
    while (loop < 11 && strcmp(names[loop], name)) loop++;
    double *times = malloc(sizeof *times * rounds);
    if (loop == 11 || rounds < 1 || !times) return 1;
    find_processors();
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
#pragma omp parallel
    pin(omp_get_thread_num());
    double used = seconds(CLOCK_PROCESS_CPUTIME_ID), began = seconds(CLOCK_MONOTONIC);
    for (long round = 0; round < rounds; round++) {
        double start = seconds(CLOCK_MONOTONIC);
        switch (loop) {
        case 8: LOOP(USE(mandelbrot(2 * i))); break;
        case 9: LOOP(USE(i * i)); break;
        case 10: LOOP(USE(i)); break;
        default: LOOP(USE(steps(cost(loop, i, n))));
        }
        times[round] = seconds(CLOCK_MONOTONIC) - start;
    }
    double wall = seconds(CLOCK_MONOTONIC) - began;
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    qsort(times, rounds, sizeof *times, ascending);
    printf("%.0f %.3f\n", 1e9 * times[rounds / 2], used / wall);
}
C
for compiler in ${OPENMP:-$CC clang-19 clang}; do
    command -v "$compiler" >/dev/null || { without "OpenMP loops of $compiler" 'no such compiler'; continue; }
    build "loops-$compiler" "$compiler" $flags -ffp-contract=off -fopenmp "$out/omp_loops.c" -lm -o "$out/loops-$compiler" &&
        for schedule in static dynamic,1 dynamic,16 guided; do
            list loops "OpenMP ($("$compiler" --version | head -1)), $schedule" \
                "env OMP_SCHEDULE=$schedule OMP_WAIT_POLICY=active $out/loops-$compiler"
        done
done

cat >"$out/std_barrier.cpp" <<'C'
#include "barrier.h"
#include <barrier>
#include <thread>
#include <vector>

int main(int argc, char **argv) {
    long episodes = atol(argv[argc - 2]);
    int threads = atoi(argv[argc - 1]);
    find_processors();
    std::barrier meet(threads);
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back([&meet, episodes, i] { TIMED_EPISODES(episodes, i, meet.arrive_and_wait()); });
}
C
build std-barrier $CXX -std=c++20 $flags "$out/std_barrier.cpp" -o "$out/std-barrier" &&
    list barrier "C++ std::barrier ($($CXX --version | head -1))" "$out/std-barrier"

# Threads of Java stay where the system puts them.
cat >"$out/Phasers.java" <<'JAVA'
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.Phaser;

/** What, a size and a number of parties: episodes of that many threads, or registrations beside that number. */
final class Phasers {
    static final int WARM_UP = 5_000;
    static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    static long used, start;

    public static void main(String[] words) throws Exception {
        int size = Integer.parseInt(words[1]), parties = Integer.parseInt(words[2]);
        Phaser phaser = new Phaser(parties);
        if (words[0].equals("register")) {
            register(phaser, size);
        } else {
            meet(phaser, size, parties);
        }
    }

    static void meet(Phaser phaser, int episodes, int parties) throws Exception {
        Thread[] all = new Thread[parties];
        for (int i = 0; i < parties; i++) {
            boolean first = i == 0;
            all[i] = new Thread(() -> {
                for (int k = 0; k < WARM_UP; k++) phaser.arriveAndAwaitAdvance();
                if (first) start();
                for (int k = 0; k < episodes; k++) phaser.arriveAndAwaitAdvance();
                if (first) print(episodes);
            });
            all[i].start();
        }
        for (Thread thread : all) thread.join();
    }

    static void register(Phaser phaser, int times) {
        for (int k = -20 * WARM_UP; k < times; k++) {
            if (k == 0) start();
            phaser.register();
            phaser.arriveAndDeregister();
        }
        print(times);
    }

    static void start() {
        used = SYSTEM.getProcessCpuTime();
        start = System.nanoTime();
    }

    static void print(int times) {
        double wall = System.nanoTime() - start;
        System.out.println(wall / times + " " + (SYSTEM.getProcessCpuTime() - used) / wall);
    }
}
JAVA
if command -v javac >/dev/null; then
    build java javac -d "$out" "$out/Phasers.java" && {
        peer="Java Phaser ($(javac -version 2>&1), not pinned)"
        list barrier "$peer" "java -cp $out Phasers barrier"
        list register "$peer" "java -cp $out Phasers register"
    }
else
    without 'Java Phaser' 'no javac'
fi

# Crates of their own, of the same bodies as in the tables.
[ -n "$CARGO" ] && {
mkdir -p "$out/loops/src"
cat >"$out/loops/Cargo.toml" <<TOML
[package]
name = "loop-peers"
version = "0.0.0"
edition = "2024"

[dependencies]
fork_union = "=2.3.1"
paralight = "=0.0.12"
core_affinity = "0.8"
rustix = { version = "1", features = ["time"] }

[profile.release]
lto = "fat"
codegen-units = 1

[workspace]
TOML
cat >"$out/loops/src/main.rs" <<RUST
#[path = "$here/common/iterations.rs"]
#[allow(dead_code)]
mod iterations;

use iterations::Way;
use paralight::prelude::*;
use std::time::{Duration, Instant};

enum Pool {
    Paralight(ThreadPool),
    ForkUnion { pool: fork_union::ThreadPool, dynamic: bool },
}

struct Timed {
    pool: Pool,
    times: Vec<Duration>,
}

impl Way for Timed {
    fn run(&mut self, len: usize, body: &(impl Fn(usize) + Sync)) {
        let began = Instant::now();
        match &mut self.pool {
            Pool::Paralight(pool) => (0..len).into_par_iter().with_thread_pool(pool).for_each(body),
            Pool::ForkUnion { pool, dynamic: true } => _ = pool.for_n_dynamic(len, |prong| body(prong.task_index)),
            Pool::ForkUnion { pool, .. } => _ = pool.for_n(len, |prong| body(prong.task_index)),
        }
        self.times.push(began.elapsed());
    }
}

/// The processor time of this process.
fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [len, rounds, threads] = [3, 4, 5].map(|at| words[at].parse::<usize>().expect("a number"));
    let paralight = |range_strategy| {
        let num_threads = ThreadCount::Count(threads.try_into().expect("a thread"));
        let cpu_pinning = CpuPinningPolicy::Always;
        Pool::Paralight(ThreadPoolBuilder { num_threads, range_strategy, cpu_pinning }.build())
    };
    let pool = match &*words[1] {
        "paralight" => paralight(RangeStrategy::WorkStealing),
        "paralight-fixed" => paralight(RangeStrategy::Fixed),
        kind => {
            let mut pool = fork_union::spawn(threads);
            let cores = core_affinity::get_core_ids().unwrap_or_default();
            pool.for_threads(|thread, _| _ = core_affinity::set_for_current(cores[thread % cores.len()]));
            Pool::ForkUnion { pool, dynamic: kind == "fork-union" }
        }
    };
    let mut timed = Timed { pool, times: Vec::new() };
    let (began, before) = (Instant::now(), used());
    for _ in 0..rounds.max(1) {
        assert!(iterations::run(&words[2], len, &mut timed), "no loop {}", words[2]);
    }
    let processors = (used() - before).as_secs_f64() / began.elapsed().as_secs_f64();
    timed.times.sort();
    println!("{} {processors}", timed.times[timed.times.len() / 2].as_nanos());
    std::process::exit(0)
}
RUST
build loop-peers env CARGO_TARGET_DIR="$out/target" "$CARGO" build --release --ignore-rust-version \
    --manifest-path "$out/loops/Cargo.toml" && {
    program=$out/target/release/loop-peers
    list loops 'paralight 0.0.12, work stealing' "$program paralight"
    list loops 'paralight 0.0.12, fixed' "$program paralight-fixed"
    list loops 'fork_union 2.3.1, dynamic' "$program fork-union"
    list loops 'fork_union 2.3.1, static' "$program fork-union-static"
}
}

[ -n "$CARGO" ] || { without forte 'no $CARGO'; exit 0; }
mkdir -p "$out/forte/src"
cat >"$out/forte/Cargo.toml" <<TOML
[package]
name = "forte-peer"
version = "0.0.0"
edition = "2024"

[dependencies]
forte = "=1.0.0-beta.2"
rayon = "1"
chili = "0.2"
st3 = "0.4"
crossbeam-deque = "0.8"
core_affinity = "0.8"
rustix = { version = "1", features = ["time"] }
tautline = { path = "$here/../platforms" }
tautline-cli = { path = "$here/../apps" }
tautline-core = { path = "$here/../core", features = ["alloc"] }

[profile.release]
lto = "fat"
codegen-units = 1

[workspace]
TOML
cat >"$out/forte/src/main.rs" <<RUST
#![allow(dead_code)]
#[path = "$here/common/allocations.rs"]
mod allocations;
#[path = "$here/common/contention.rs"]
mod contention;
#[path = "$here/common/figures.rs"]
mod figures;
#[path = "$here/common/forks.rs"]
mod forks;
#[path = "$here/examples/tasks/measure.rs"]
mod measure;
#[path = "$here/common/rivals.rs"]
mod rivals;
#[path = "$here/examples/tasks/rows.rs"]
mod rows;
#[path = "$here/common/work.rs"]
mod work;

use forks::{Fork, Runtime, Task, pin};

static POOL: forte::ThreadPool = forte::ThreadPool::new();

struct Forte;

impl Fork for &forte::Worker {
    fn join<A: Task, B: Task>(&mut self, first: A, second: B) -> (A::Out, B::Out) {
        forte::Worker::join(self, |mut worker| first.run(&mut worker), |mut worker| second.run(&mut worker))
    }
}

impl Runtime for Forte {
    const NAME: &'static str = "forte";

    fn start(workers: usize) -> Self {
        pin(1);
        POOL.resize_to(workers - 1);
        pin(0);
        Self
    }

    fn run<T: Task>(&self, task: T) -> T::Out {
        POOL.with_worker(|mut worker| task.run(&mut worker))
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (size, workers) = (words[2].clone(), words[3].parse().expect("a number of workers"));
    let case = measure::Case { workers, size, quick: false };
    let way = match &*words[1] {
        "fib" => measure::fib::<Forte>,
        "queens" => measure::queens::<Forte>,
        _ => measure::search::<Forte>,
    };
    let measured = move || {
        let sample = way(&case);
        println!("{} {}", sample.figure, sample.processors);
        std::process::exit(0)
    };
    let thread = std::thread::Builder::new().stack_size(forks::STACK_BYTES).spawn(measured);
    thread.expect("a thread").join().expect("it exits")
}
RUST
build forte env CARGO_TARGET_DIR="$out/target" "$CARGO" build --release --ignore-rust-version \
    --manifest-path "$out/forte/Cargo.toml" && {
    program=$out/target/release/forte-peer
    forks 'forte 1.0.0-beta.2' "$program fib"
    for row in queens/1 queens/2 T1L/2 T3L/2; do
        list $row 'forte 1.0.0-beta.2' "$program ${row%/*}"
    done
}
