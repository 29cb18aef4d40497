/* Accesses to a global array of two ranks, beside those of examples/objects. */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIPS = 100000, WARM_UP = 10000, TURNS = 10000, BLOCKS = 8000, WORDS = 8192, COUNT = 16, SIDE = COUNT * WORDS };

/* Rank 0 has the first half, rank 1 the second one. */
static int array;
static int here;

/* All wrong values end the program: no figure is printed. */
static void verify(int holds) {
    if (!holds) GA_Error("a wrong value", 1);
}

static void get(long *into, int first, int count) {
    int low = first, high = first + count - 1, stride = 1;
    NGA_Get(array, &low, &high, into, &stride);
}

static void put(long *from, int first, int count) {
    int low = first, high = first + count - 1, stride = 1;
    NGA_Put(array, &low, &high, from, &stride);
}

/* Nanoseconds of an access of rank 0 to a number of rank 1. */
static double accesses(int updates) {
    double start = 0;
    int at = SIDE;
    for (long i = 0, found; i < WARM_UP + TRIPS; i++) {
        if (i == WARM_UP) start = MPI_Wtime();
        if (updates) found = NGA_Read_inc(array, &at, 1);
        else get(&found, at, 1);
        verify(found == (updates ? i : 0));
    }
    return 1e9 * (MPI_Wtime() - start) / TRIPS;
}

/* Gigabytes a second. */
static double blocks(void) {
    static long block[WORDS];
    double start = MPI_Wtime();
    for (int i = 0; i < BLOCKS; i++) {
        get(block, SIDE + i % COUNT * WORDS, WORDS);
        verify(block[0] == i % COUNT && block[WORDS - 1] == block[0]);
    }
    return 1e-9 * BLOCKS * sizeof block / (MPI_Wtime() - start);
}

/* Nanoseconds of a write of rank 0 to its own part, and of the reads of rank 1 after it. */
static double reads(int count) {
    double spent = 0;
    for (long turn = 1; turn <= TURNS / 10 + TURNS; turn++) {
        double start = 0, end = 0;
        if (here == 0) {
            start = MPI_Wtime();
            put(&turn, 0, 1);
            end = MPI_Wtime();
        }
        GA_Sync();
        if (here == 1) {
            long sum = 0, found;
            start = MPI_Wtime();
            for (int i = 0; i < count; i++, sum += found) get(&found, 0, 1);
            end = MPI_Wtime();
            verify(sum == count * turn);
        }
        GA_Sync();
        if (turn > TURNS / 10) spent += end - start;
    }
    GA_Dgop(&spent, 1, "+");
    return 1e9 * spent / TURNS;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int length = 2 * SIDE, chunk = SIDE;
    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 1 << 20, 1 << 20);
    here = GA_Nodeid();
    array = NGA_Create(C_LONG, 1, &length, "words", &chunk);
    verify(array && GA_Nnodes() == 2);
    long *own = malloc(SIDE * sizeof *own);
    for (int i = 0; i < SIDE; i++) own[i] = i / WORDS;
    put(own, here * SIDE, SIDE);
    GA_Sync();
    double figure = 0;
    if (strncmp(what, "reads-", 6) == 0) figure = reads(atoi(what + 6));
    else if (here == 0) figure = strcmp(what, "blocks") ? accesses(!strcmp(what, "update")) : blocks();
    GA_Sync();
    if (here == 0) printf("%.4f\n", figure);
    fflush(stdout);
    GA_Terminate();
    MPI_Finalize();
}
