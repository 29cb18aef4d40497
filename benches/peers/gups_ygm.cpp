// RandomAccess by YGM: a lambda at the owner of each word.
#include <ygm/comm.hpp>

#include "gups.h"

static ygm::comm *world;

static void apply(uint64_t value, uint64_t count) {
    for (; count; count--) {
        value = next_value(value);
        if (owner(value) == here) update(value);
        else world->async(owner(value), [](uint64_t value) { update(value); }, value);
    }
}

int main(int argc, char **argv) {
    ygm::comm all(&argc, &argv);
    world = &all, here = all.rank(), ranks = all.size();
    auto barrier = [] { world->barrier(); };
    auto sum = [](uint64_t own) { return world->all_reduce_sum(own); };
    return gups(argc, argv, apply, [] {}, barrier, sum);
}
