#!/bin/sh
# Starts a program of Lamellar as two ranks, each with a thread on a processor of its own.
for rank in 0 1; do
    LAMELLAR_BACKEND=shmem LAMELLAR_THREADS=1 LAMELLAR_NUM_PES=2 LAMELLAR_PE_ID=$rank LAMELLAR_JOB_ID=$$ taskset -c "$rank" "$@" &
done
wait
