/* RandomAccess by bale: the values for other ranks over conveyors or, with EXSTACK, over exstack, as in its histograms. */
#include <shmem.h>

#ifdef EXSTACK
#include <exstack.h>
#else
#include <convey.h>
#endif
#include "gups.h"

static void barrier(void) { shmem_barrier_all(); }

static uint64_t sum(uint64_t own) {
    static long long from, to, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    static long sync[SHMEM_REDUCE_SYNC_SIZE];
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync[i] = SHMEM_SYNC_VALUE;
    from = (long long)own;
    shmem_barrier_all();
    shmem_longlong_sum_to_all(&to, &from, 1, 0, 0, ranks, work, sync);
    return (uint64_t)to;
}

#ifdef EXSTACK
static exstack_t *stack;

static void start(void) {
    stack = exstack_init(BUFFER, sizeof(uint64_t));
    if (!stack) exit(1);
}

static void apply(uint64_t value, uint64_t count) {
    for (uint64_t after = next_value(value); exstack_proceed(stack, count == 0);) {
        for (; count; count--, value = after, after = next_value(value))
            if (owner(after) == here) update(after);
            else if (!exstack_push(stack, &after, owner(after))) break;
        exstack_exchange(stack);
        for (uint64_t *got; (got = exstack_pull(stack, NULL));) update(*got);
    }
}

static void again(void) { exstack_reset(stack); }
#else
static convey_t *conveyor;

static void begin(void) {
    if (convey_begin(conveyor, sizeof(uint64_t), 0) < 0) exit(1);
}

static void start(void) {
    conveyor = convey_new(SIZE_MAX, 0, NULL, convey_opt_SCATTER);
    if (!conveyor) exit(1);
    begin();
}

static void again(void) {
    convey_reset(conveyor);
    begin();
}

static void apply(uint64_t value, uint64_t count) {
    for (uint64_t after = next_value(value), got; convey_advance(conveyor, count == 0);) {
        for (; count; count--, value = after, after = next_value(value))
            if (owner(after) == here) update(after);
            else if (convey_push(conveyor, &after, owner(after)) != convey_OK) break;
        while (convey_pull(conveyor, &got, NULL) == convey_OK) update(got);
    }
}
#endif

int main(int argc, char **argv) {
    shmem_init();
    here = shmem_my_pe(), ranks = shmem_n_pes();
    start();
    int code = gups(argc, argv, apply, again, barrier, sum);
    if (code) shmem_global_exit(code);
    shmem_finalize();
    return 0;
}
