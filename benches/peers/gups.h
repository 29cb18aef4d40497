/* What programs of RandomAccess share: the stream of HPCC, a block of the table at each rank, which is one of 2^k, and the
   verification: once the stream has been applied again, each word is its index. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t *block, words, first, updates;
static int here, ranks, block_log2;

static inline uint64_t next_value(uint64_t value) { return value << 1 ^ (uint64_t)((int64_t)value >> 63 & 7); }
static inline int owner(uint64_t value) { return (int)((value & (words - 1)) >> block_log2); }
static inline void update(uint64_t value) { block[(value & (words - 1)) - first] ^= value; }

static uint64_t square(uint64_t value) {
    uint64_t power = 1, sum = 0;
    for (; value; value >>= 1, power = next_value(next_value(power)))
        if (value & 1) sum ^= power;
    return sum;
}

/* The value before the one at this position (HPCC_starts). */
static uint64_t value_at(uint64_t position) {
    uint64_t value = 1;
    for (int bit = 63; bit >= 0; bit--) {
        value = square(value);
        if (position >> bit & 1) value = next_value(value);
    }
    return value;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Prints million updates a second of 2^argv[1] words, four for each; `apply` gets the value before its first one, and how many
   follow; `again` prepares its second call, and is not timed. Returns the exit code. */
static int gups(int argc, char **argv, void (*apply)(uint64_t, uint64_t), void (*again)(void), void (*barrier)(void),
                uint64_t (*sum)(uint64_t)) {
    int log2 = argc == 2 ? atoi(argv[1]) : -1, ranks_log2 = 0;
    while (1 << ranks_log2 < ranks) ranks_log2++;
    block_log2 = log2 - ranks_log2;
    if (log2 < 0 || log2 > 60 || block_log2 < 0 || 1 << ranks_log2 != ranks) {
        if (here == 0) fprintf(stderr, "%s LOG2: of the words, 60 at most, at least one for each of 2^k ranks\n", argv[0]);
        return 2;
    }
    uint64_t size = (uint64_t)1 << block_log2;
    words = (uint64_t)1 << log2, updates = 4 * words, first = here * size;
    uint64_t share = updates / ranks;
    block = (uint64_t *)malloc(size * sizeof *block);
    if (!block) {
        perror("the table");
        exit(1);
    }
    for (uint64_t i = 0; i < size; i++) block[i] = first + i;
    uint64_t value = value_at(here * share);
    barrier();
    double start = now();
    apply(value, share);
    barrier();
    double wall = now() - start;
    again();
    apply(value, share);
    barrier();
    uint64_t errors = 0;
    for (uint64_t i = 0; i < size; i++) errors += block[i] != first + i;
    errors = sum(errors);
    if (here == 0 && errors) fprintf(stderr, "%llu wrong words\n", (unsigned long long)errors);
    if (here == 0 && !errors) printf("%.3f\n", 1e-6 * updates / wall);
    return errors != 0;
}
