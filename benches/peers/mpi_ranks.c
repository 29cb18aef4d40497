/* Messages and operations of two ranks of MPI, beside those of examples/processes. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIPS = 200000, WARM_UP = 20000, PARCELS = 1000, PARCEL = 1 << 20 };

static char *bytes;
static int here;

static void pass(int count, int sender) {
    if (here == sender) MPI_Send(bytes, count, MPI_BYTE, !sender, 0, MPI_COMM_WORLD);
    else MPI_Recv(bytes, count, MPI_BYTE, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void trip(int count) {
    pass(count, 0);
    pass(count, 1);
}

static void barrier(int count) { MPI_Barrier(MPI_COMM_WORLD); }

static void sum(int count) {
    static uint64_t number;
    uint64_t own = ++number, all;
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (all != 2 * own) MPI_Abort(MPI_COMM_WORLD, 1);
}

static const struct {
    const char *name;
    void (*run)(int);
    int count;
} operations[] = {{"trip", trip, 8}, {"call", trip, 64}, {"barrier", barrier, 0}, {"sum", sum, 8}};

/* Gigabytes a second. */
static double bulk(void) {
    double start = MPI_Wtime();
    for (int i = 0; i < PARCELS; i++) {
        /* As if each were new: every line is written. */
        for (int at = 0; at < PARCEL && here == 0; at += 64) bytes[at] = i;
        pass(PARCEL, 0);
    }
    pass(1, 1);
    return 1e-9 * PARCELS * PARCEL / (MPI_Wtime() - start);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &here);
    bytes = calloc(PARCEL, 1);
    double figure = 0;
    for (size_t at = 0; at < sizeof operations / sizeof *operations; at++) {
        if (argc < 2 || strcmp(operations[at].name, argv[1])) continue;
        double start = MPI_Wtime();
        for (int i = 0; i < WARM_UP + TRIPS; i++) {
            if (i == WARM_UP) start = MPI_Wtime();
            operations[at].run(operations[at].count);
        }
        /* Nanoseconds. */
        figure = 1e9 * (MPI_Wtime() - start) / TRIPS;
    }
    if (argc > 1 && strcmp(argv[1], "bulk") == 0) figure = bulk();
    if (here == 0 && figure) printf("%.2f\n", figure);
    MPI_Finalize();
}
