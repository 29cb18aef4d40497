# Peers of shared objects, two ranks on two cores; a part of peers.sh, after ranks.sh. A program prints the figure of its row.
# Lamellar comes from crates.io; CARGO= leaves it out.
# MPICH and Global Arrays are those of Debian's packages mpich, libmpich-dev and libglobalarrays-dev, which is linked with
# liblapack-dev, libblas-dev, libarmci-mpi-dev and libscalapack-openmpi-dev.

# Lists the program $2, started by $3, as the peer $1 in the rows of accesses of other ranks.
numbers_peer() {
    for what in miss update reads-1 reads-10 reads-100; do list "objects/$what" "$1" "$3 $out/$2 $what"; done
}
objects_peer() {
    numbers_peer "$@"
    list objects/blocks "$1" "$3 $out/$2 blocks"
}

arrays_peer() {
    config=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)/ga/openmpi/bin/ga-config
    [ -f "$config" ] || { without 'Global Arrays' "no $config"; return 0; }
    build arrays "$mpicc" -O3 -march=native $(sh "$config" --cppflags) "$here/peers/arrays.c" -o "$out/arrays" \
        $(sh "$config" --ldflags) $(sh "$config" --libs) -lgfortran -lm || return 0
    objects_peer "Global Arrays $(sh "$config" --version), $mpi" arrays "$start"
}

if [ -n "${mpi:-}" ]; then
    build rma "$mpicc" -O3 -march=native "$here/peers/rma.c" -o "$out/rma" && objects_peer "$mpi" rma "$start"
    arrays_peer
fi
if command -v mpicc.mpich >/dev/null && command -v mpirun.mpich >/dev/null; then
    mpich=$(mpirun.mpich --version | sed -n 's/^ *Version: *//p')
    build rma-mpich mpicc.mpich -O3 -march=native "$here/peers/rma.c" -o "$out/rma-mpich" &&
        objects_peer "MPICH $mpich" rma-mpich 'mpirun.mpich -n 2 -bind-to core'
else
    without MPICH 'no mpicc.mpich and mpirun.mpich'
fi

lamellar_peer() {
    version=0.8.1
    mkdir -p "$out/lamellar"
    cat >"$out/lamellar/Cargo.toml" <<TOML
[package]
name = "lamellar-peer"
version = "0.0.0"
edition = "2024"

[[bin]]
name = "lamellar-peer"
path = "$here/peers/lamellar.rs"

[dependencies]
lamellar = { version = "=$version", default-features = false, features = ["enable-on-node-shmem"] }

[profile.release]
lto = "fat"
codegen-units = 1

[workspace]
TOML
    build lamellar "$CARGO" build --release --manifest-path "$out/lamellar/Cargo.toml" --target-dir "$out/lamellar/target" || return 0
    numbers_peer "Lamellar $version" lamellar/target/release/lamellar-peer "sh $here/peers/lamellar.sh"
}

if [ -n "$CARGO" ]; then lamellar_peer; else without Lamellar 'no $CARGO'; fi
