/* One-sided accesses of MPI of two ranks, beside those of examples/objects. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIPS = 100000, WARM_UP = 10000, TURNS = 10000, BLOCKS = 8000, WORDS = 8192, COUNT = 16 };

static MPI_Win window;
static uint64_t *words;
static int here;

/* All wrong values end the program: no figure is printed. */
static void verify(int holds) {
    if (!holds) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void get(uint64_t *into, int count, int rank, MPI_Aint at) {
    MPI_Get(into, count, MPI_UINT64_T, rank, at, count, MPI_UINT64_T, window);
    MPI_Win_flush(rank, window);
}

/* Nanoseconds of an access of rank 0 to a number of rank 1. */
static double accesses(int updates) {
    double start = 0;
    uint64_t found, one = 1;
    for (uint64_t i = 0; i < WARM_UP + TRIPS; i++) {
        if (i == WARM_UP) start = MPI_Wtime();
        if (updates) {
            MPI_Fetch_and_op(&one, &found, MPI_UINT64_T, 1, 0, MPI_SUM, window);
            MPI_Win_flush(1, window);
        } else get(&found, 1, 1, 0);
        verify(found == (updates ? i : 0));
    }
    return 1e9 * (MPI_Wtime() - start) / TRIPS;
}

/* Gigabytes a second. */
static double blocks(void) {
    static uint64_t block[WORDS];
    double start = MPI_Wtime();
    for (int i = 0; i < BLOCKS; i++) {
        get(block, WORDS, 1, i % COUNT * WORDS);
        verify(block[0] == (uint64_t)(i % COUNT) && block[WORDS - 1] == block[0]);
    }
    return 1e-9 * BLOCKS * sizeof block / (MPI_Wtime() - start);
}

/* Nanoseconds of a write of rank 0 to its own memory, and of the reads of rank 1 after it. */
static double reads(int count) {
    double spent = 0, all = 0;
    for (uint64_t turn = 1; turn <= TURNS / 10 + TURNS; turn++) {
        double start = 0, end = 0;
        if (here == 0) {
            start = MPI_Wtime();
            MPI_Put(&turn, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, window);
            MPI_Win_flush(0, window);
            end = MPI_Wtime();
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (here == 1) {
            uint64_t sum = 0, found;
            start = MPI_Wtime();
            for (int i = 0; i < count; i++, sum += found) get(&found, 1, 0, 0);
            end = MPI_Wtime();
            verify(sum == count * turn);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn > TURNS / 10) spent += end - start;
    }
    MPI_Reduce(&spent, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return 1e9 * all / TURNS;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &here);
    MPI_Win_allocate(COUNT * WORDS * sizeof *words, sizeof *words, MPI_INFO_NULL, MPI_COMM_WORLD, &words, &window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    for (int i = 0; i < COUNT * WORDS; i++) words[i] = i / WORDS;
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    double figure = 0;
    if (strncmp(what, "reads-", 6) == 0) figure = reads(atoi(what + 6));
    else if (here == 0) figure = strcmp(what, "blocks") ? accesses(!strcmp(what, "update")) : blocks();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    if (here == 0) printf("%.4f\n", figure);
    MPI_Finalize();
}
