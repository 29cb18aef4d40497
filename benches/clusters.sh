#!/bin/sh
# Builds the programs of benches/CLUSTERS.md with each MPI library of this machine, and runs them:
#
#   benches/clusters.sh OUT --write            measures, and renders benches/CLUSTERS.md; all options: OUT/clusters --help
#                                              (3 minutes to build, 3.5 for each of 5 rounds with two libraries on 2 processors)
#   benches/clusters.sh OUT                    only builds
#
# OUT then holds all that another machine needs, which may have no compiler, MPI or network: copy the folder, and there
#
#   OUT/run.sh --write                         measures, and writes OUT/figures/MACHINE/clusters.tsv and OUT/CLUSTERS.md
#
# The .tsv, copied into the same folder of benches/figures, is rendered with all others by OUT/clusters --render.
# TARGET is the folder of what is compiled, else OUT/target, which needs not be copied; LIBRARIES the libraries, else openmpi mpich.
set -eu

[ $# -ge 1 ] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
target=${TARGET:-$out/target}
CARGO=${CARGO:-cargo}
BENCH_REVISION=$(git -C "$here" describe --always --dirty --abbrev=9 --exclude='*' 2>/dev/null || echo unknown)
BENCH_COMPILER=$(rustc --version)
export BENCH_REVISION BENCH_COMPILER

# Copies libraries that a program loads, but for those of the C library, which belong to the machine.
carry() {
    ldd "$1" | awk '/=> \// { print $3 }' | grep -Ev '/(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so' |
        while read -r file; do [ -e "$2/$(basename "$file")" ] || cp -L "$file" "$2"; done
}

# The launcher of Open MPI, and its plugins.
carry_openmpi() {
    to=$out/openmpi/mpi
    mkdir -p "$to/bin" "$to/lib/openmpi" "$to/share/openmpi"
    for program in orterun orted; do
        cp -L "$(command -v $program)" "$to/bin/"
        carry "$to/bin/$program" "$to/lib"
    done
    value() { ompi_info --path "$1" --parsable | cut -d: -f3; }
    # Plugins for networks load libraries that another machine has not, and are not needed on one machine.
    for plugin in "$(value pkglibdir)"/mca_*.so; do
        case $plugin in *ucx* | *ofi* | *psm* | *usnic* | *portals* | *openib* | *ucc* | *lustre* | *slurm* | *cuda*) continue ;;
        # OpenSHMEM.
        *mca_spml* | *mca_scoll* | *mca_sshmem* | *mca_memheap* | *mca_atomic*) continue ;; esac
        cp -L "$plugin" "$to/lib/openmpi/"
        carry "$plugin" "$to/lib"
    done
    cp -L "$(value pkgdatadir)"/*.txt "$to/share/openmpi/" 2>/dev/null || :
}

carry_mpich() {
    to=$out/mpich/mpi
    mkdir -p "$to/bin" "$to/lib"
    cp -L "$(command -v mpiexec.hydra)" "$to/bin/mpiexec"
    cp -L "$(command -v hydra_pmi_proxy)" "$to/bin/"
    for program in "$to"/bin/*; do carry "$program" "$to/lib"; done
}

for library in ${LIBRARIES:-openmpi mpich}; do
    compiler=$(command -v mpicc.$library) || { echo "without $library: no mpicc.$library" >&2; continue; }
    MPICC=$compiler CARGO_TARGET_DIR=$target/$library "$CARGO" build --release --manifest-path "$here/../Cargo.toml" \
        -p tautline-bench -p tautline-cli --features tautline-bench/mpi,tautline-cli/mpi --bin tautline \
        --example clusters --example messages --example searches --example overlap --example waits
    to=$out/$library
    mkdir -p "$to/mpi/lib"
    release=$target/$library/release
    cp "$release/tautline" "$to/"
    for program in messages searches overlap waits; do cp "$release/examples/$program" "$to/"; done
    cp "$release/examples/clusters" "$out/"
    carry "$to/messages" "$to/mpi/lib"
    carry_$library
    cat >"$out/$library/launch" <<'SH'
#!/bin/sh
# launch RANKS PROGRAM [ARGUMENT...]: with the library's files beside this script.
here=$(cd "$(dirname "$0")" && pwd)
ranks=$1
shift
export LD_LIBRARY_PATH="$here/mpi/lib" PATH="$here/mpi/bin:$PATH"
SH
    case $library in
    openmpi)
        cat >>"$out/$library/launch" <<'SH'
export OPAL_PREFIX="$here/mpi" OPAL_LIBDIR="$here/mpi/lib" OPAL_PKGLIBDIR="$here/mpi/lib/openmpi" OPAL_BINDIR="$here/mpi/bin"
export OPAL_PKGDATADIR="$here/mpi/share/openmpi"
# Open MPI starts nothing as root, which a container often is, without these.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Its help files are not carried.
export PMIX_MCA_pcompress_base_silence_warning=1
# Ranks are put on their processors by what they start; with more ranks than slots they would yield when idle.
exec timeout 600 orterun -n "$ranks" --host "localhost:$(nproc)" --oversubscribe --bind-to none \
    --mca plm isolated --mca btl self,vader --mca pml ob1 "$@"
SH
        ;;
    mpich)
        cat >>"$out/$library/launch" <<'SH'
exec timeout 600 mpiexec -launcher fork -n "$ranks" "$@"
SH
        ;;
    esac
    chmod +x "$out/$library/launch"
done
[ -x "$out/clusters" ] || { echo "no MPI library: install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev" >&2; exit 1; }

cat >"$out/run.sh" <<'SH'
#!/bin/sh
# Measures on this machine. Options: clusters --help.
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/figures"
exec "$here/clusters" --programs "$here" --figures "$here/figures" "$@"
SH
chmod +x "$out/run.sh"
[ $# -eq 0 ] || exec "$out/clusters" --programs "$out" "$@"
