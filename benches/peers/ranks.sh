# Peers of programs over ranks, two of them on two cores; a part of peers.sh. A program prints the figure of its row. Those
# of RandomAccess are called with the binary logarithm of the number of words, those of breadth-first search with the scale.

# As root, Open MPI starts nothing without these variables.
on_two='env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1'

# A name, and a version if it is known.
versioned() { echo "$1${2:+ $2}"; }

# Version $2 of the sources in folder $1, with the revision of its checkout if it is one.
version_in() {
    revision=
    [ -e "$1/.git" ] && revision=$(git -C "$1" rev-parse --short=9 HEAD 2>/dev/null || :)
    echo "${2:-${revision:+0}}${revision:+-g$revision}"
}

# The version that AC_INIT of a configure.ac has.
configured() { sed -n 's/^AC_INIT(\[[a-z]*\], *\[\([0-9.]*\)\].*/\1/p' "$1" 2>/dev/null || :; }

# Writes the text $2 as a script, whose path is $out/$1.
script() {
    printf '%s\n' '#!/bin/sh' "$2" >"$out/$1"
    chmod +x "$out/$1"
}

# Writes $out/$1.sh, which runs the command $2 and prints the figure that the program $3 of awk finds in its output; without
# a figure it fails with the last lines of the errors, which are kept in $out/$1.err.
figure_of() {
    script "$1.sh" "figure=\$($2 2>$out/$1.err | awk '$3')
[ -n \"\$figure\" ] && echo \"\$figure\" && exit
grep -v '^-*\$' $out/$1.err | tail -n 3 | tr '\\n' ' ' >&2
exit 1"
}

uts_peer() {
    uts=$sources/uts
    [ -f "$uts/mpi_workstealing.c" ] || { without 'UTS of MPI' "no $uts/mpi_workstealing.c"; return 0; }
    build uts-mpi "$mpicc" $flags -w -fcommon -DBRG_RNG -D__VS_ORIG__ -D__MPI__ -I"$uts" -I"$uts/rng" \
        "$uts/mpi_workstealing.c" "$uts/uts.c" "$uts/uts_dm.c" "$uts/stats.c" "$uts/dequeue.c" "$uts/dlist.c" \
        "$uts/rng/brg_sha1.c" -lm -o "$out/uts-mpi" || return 0
    # Million nodes a second.
    figure_of uts-mpi "$start $out/uts-mpi \"\$@\"" '/performance/ { print $8 / 1e6 }'
    list ranks/T1L "$mpi, UTS by work stealing" "$out/uts-mpi.sh -t 1 -a 3 -d 13 -b 4 -r 29"
    list ranks/T3L "$mpi, UTS by work stealing" "$out/uts-mpi.sh -t 0 -b 2000 -q 0.200014 -m 5 -r 7"
}

ygm_peer() {
    ygm=$sources/ygm/include
    [ -f "$ygm/ygm/comm.hpp" ] || { without YGM "no $ygm/ygm/comm.hpp"; return 0; }
    build gups-ygm "$mpicxx" -std=c++20 $flags -I"$ygm" "$here/peers/gups_ygm.cpp" -o "$out/gups-ygm" || return 0
    version=$(sed -n 's/.*ygm_version("v\(.*\)").*/\1/p' "$ygm/ygm/version.hpp" 2>/dev/null || :)
    list ranks/gups "$(versioned YGM "$(version_in "$sources/ygm" "$version")")" "$start $out/gups-ygm"
}

# The package runs all benchmarks of HPCC; the table has the largest power of two of words that fits into HPL's matrix.
hpcc_peer() {
    command -v hpcc >/dev/null || { without HPCC 'no hpcc'; return 0; }
    version=$(dpkg-query -W -f '${Version}' hpcc 2>/dev/null || :)
    cat >"$out/hpccinf.txt" <<'HPL'
HPLinpack benchmark input file
RandomAccess
HPL.out      output file name
8            device out
1            # of problems sizes (N)
SIDE         Ns
1            # of NBs
80           NBs
0            PMAP process mapping
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs
1            # of recursive stopping criterium
4            NBMINs
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs
1            # of broadcast
1            BCASTs
1            # of lookahead depth
1            DEPTHs
2            SWAP
64           swapping threshold
0            L1 in
0            U  in
1            Equilibration
8            memory alignment in double
##### This line is ignored #####
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
HPL
    script hpcc.sh "set -eu
folder=\$(mktemp -d)
trap 'rm -rf \"\$folder\"' EXIT
cd \"\$folder\"
side=\$(awk \"BEGIN { print int(sqrt(1.2 * 2 ^ \$1)) + 1 }\")
sed \"s/^SIDE /\$side /\" $out/hpccinf.txt >hpccinf.txt
$start hpcc >&2
# Million updates a second, if the table had this size, all updates were made, and no word is wrong.
awk -F= -v log2=\"\$1\" '
    { is[\$1] = \$2 }
    END {
        of = \"MPIRandomAccess_\"
        if (is[of \"N\"] != 2 ^ log2) why = \"another size\"
        else if (is[of \"ExeUpdates\"] != 4 * 2 ^ log2) why = \"another number of updates\"
        else if (!(of \"Errors\" in is) || is[of \"Errors\"] + 0 != 0) why = \"wrong words\"
        else if (!(of \"GUPs\" in is)) why = \"no figure\"
        if (why) { print why >\"/dev/stderr\"; exit 1 }
        print 1e3 * is[of \"GUPs\"]
    }' hpccoutf.txt"
    list ranks/gups "$(versioned HPCC "$version")" "$out/hpcc.sh"
}

graph500_peer() {
    graph500=$sources/graph500
    [ -f "$graph500/src/bfs_reference.c" ] || { without Graph500 "no $graph500/src/bfs_reference.c"; return 0; }
    build bfs-graph500 "$mpicc" $flags -w -fcommon -Drestrict=__restrict__ -DGRAPH_GENERATOR_MPI \
        -DREUSE_CSR_FOR_VALIDATION -I"$graph500/aml" "$graph500/src/bfs_reference.c" "$graph500/src/csr_reference.c" \
        "$graph500/src/main.c" "$graph500/src/utils.c" "$graph500/src/validate.c" "$graph500/aml/aml.c" \
        "$graph500/generator/graph_generator.c" "$graph500/generator/make_graph.c" "$graph500/generator/splittable_mrg.c" \
        "$graph500/generator/utils.c" -lpthread -lm -o "$out/bfs-graph500" || return 0
    # The harmonic mean, in million edges a second; it is not printed if a tree is not valid.
    figure_of graph500 "env -u SKIP_BFS -u SKIP_VALIDATION -u TMPFILE -u REUSEFILE $start $out/bfs-graph500 \"\$1\" 16" \
        '/bfs +harmonic_mean_TEPS/ { print $NF / 1e6 }'
    version=$(sed -n '1s/^Graph500-//p' "$graph500/README" 2>/dev/null || :)
    list ranks/bfs "$(versioned 'Graph500 reference' "$(version_in "$graph500" "$version")")" "$out/graph500.sh"
}

bale_peers() {
    bale=$sources/bale/src/bale_classic
    [ -d "$bale/convey" ] || { without bale "no $bale/convey"; return 0; }
    command -v oshcc >/dev/null && command -v oshrun >/dev/null || { without bale 'no oshcc and oshrun'; return 0; }
    build gups-exstack oshcc $flags -w -DUSE_SHMEM -DEXSTACK -DBUFFER=1024 -I"$bale/exstack" -I"$bale/libgetput" -x c \
        "$here/peers/gups_bale.c" "$bale/exstack/exstack.upc" "$bale/libgetput/libgetput.upc" -lm -o "$out/gups-exstack" &&
        bale_peer exstack gups-exstack
    rm -rf "$out/convey"
    cp -r "$bale/convey" "$out/convey"
    build conveyors conveyors "$out/convey" &&
        build gups-conveyors oshcc $flags -I"$out/convey" "$here/peers/gups_bale.c" "$out/convey/libconvey.a" \
            -lm -o "$out/gups-conveyors" && bale_peer conveyors gups-conveyors
    return 0
}

conveyors() (
    cd "$1" && autoreconf -fi && ./configure --with-shmem CC=oshcc CFLAGS="$flags" && make libconvey.a
)

# Lists a program by a part of bale. The OpenSHMEM of Open MPI 4.1.4 fails in shmem_finalize, after the figure.
bale_peer() {
    figure_of "$2" "$on_two oshrun -n 2 --bind-to core $out/$2 \"\$1\"" '/^[0-9.]+$/'
    folder=$bale/convey
    [ "$1" = exstack ] && folder=$bale/exstack
    version=$(configured "$folder/configure.ac")
    list ranks/gups "$(versioned "bale $1" "$(version_in "$sources/bale" "$version")")" "$out/$2.sh"
}

# The version of Open MPI: 4 calls itself OpenRTE, 5 Open MPI.
open_mpi() { "$1" --version 2>/dev/null | sed -nE '1s/.*\((OpenRTE|Open MPI)\) *([0-9][^ ]*).*/\2/p'; }

suffix=
command -v mpicc.openmpi >/dev/null && suffix=.openmpi
mpicc=mpicc$suffix mpicxx=mpicxx$suffix mpirun=mpirun$suffix
if ! command -v $mpicc >/dev/null || ! command -v $mpirun >/dev/null; then
    without 'peers of ranks' "no $mpicc and $mpirun"
elif version=$(open_mpi $mpirun) && [ -z "$version" ]; then
    without 'peers of ranks' "$mpirun is not that of Open MPI"
else
    mpi="Open MPI $version"
    start="$on_two $mpirun -n 2 --bind-to core"
    build mpi-ranks $mpicc -O3 -march=native "$here/peers/mpi_ranks.c" -o "$out/mpi-ranks" &&
        for what in trip bulk call barrier sum; do list "ranks/$what" "$mpi" "$start $out/mpi-ranks $what"; done
    uts_peer
    ygm_peer
    hpcc_peer
    graph500_peer
    bale_peers
fi
