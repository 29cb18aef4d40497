//! Ranks over MPI: the conformance of the link and the applications, with each library.

use super::Verdict;
use super::packages::{self, Need, exists};
use crate::shell::{cargo, run, target_dir, test};
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library: its name, its compiler, its launcher, and the tests of applications that are left to
/// the other one.
struct Library {
    name: &'static str,
    compiler: &'static str,
    launcher: &'static str,
    skipped: &'static str,
}

const LIBRARIES: [Library; 2] = [
    Library {
        name: "openmpi",
        compiler: "/usr/bin/mpicc.openmpi",
        launcher: "mpirun.openmpi --oversubscribe",
        skipped: "",
    },
    Library {
        name: "mpich",
        compiler: "/usr/bin/mpicc.mpich",
        launcher: "mpirun.mpich",
        // Minutes, for what depends on no library.
        skipped: " -- --skip every_chunk_and_interval",
    },
];

const NEEDS: &[Need<'_>] = &[
    Need {
        name: "Open MPI",
        is_there: &|| exists(LIBRARIES[0].compiler),
        packages: &["openmpi-bin", "libopenmpi-dev"],
    },
    Need {
        name: "MPICH",
        is_there: &|| exists(LIBRARIES[1].compiler),
        packages: &["mpich", "libmpich-dev"],
    },
    // Reads the headers of the libraries, which include those of a compiler: `stddef.h` is in a
    // package of its own.
    Need {
        name: "libclang with the headers of its compiler",
        is_there: &|| libclang().is_some(),
        packages: &["libclang1-14", "libclang-common-14-dev"],
    },
];

pub(super) fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    if let Some(why) = packages::install(NEEDS, &[])? {
        return Ok(Verdict::CannotRun(why));
    }
    for library in &LIBRARIES {
        let built = |words: &str| {
            let mut command = cargo(tree, words.split(' '));
            configure(&mut command, tree, library);
            command
        };
        run(&mut built(
            "clippy --locked -p tautline-mpi --all-targets -- -D warnings",
        ))?;
        test(&mut built("test --locked -p tautline-mpi"))?;
        test(&mut built(
            "test --locked -p tautline --features mpi --test comm_mpi",
        ))?;
        let skipped = library.skipped;
        let applications =
            format!("test --locked -p tautline-cli --features mpi --test mpi{skipped}");
        test(&mut built(&applications)).with_context(|| format!("with {}", library.name))?;
    }
    let words = "doc --locked --no-deps -p tautline-mpi";
    let mut command = cargo(tree, words.split(' '));
    configure(&mut command, tree, &LIBRARIES[0]);
    run(command.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    Ok(Verdict::Holds("with Open MPI and MPICH".into()))
}

/// Returns the folder of a libclang that has the headers of its compiler.
fn libclang() -> Option<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let is_whole = |library: &PathBuf| {
        let mut compilers = entries(&library.join("clang"));
        library.join("libclang.so.1").exists()
            && compilers.any(|version| version.path().join("include/stddef.h").exists())
    };
    let versions = entries(Path::new("/usr/lib"));
    let versions =
        versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"));
    versions
        .map(|version| version.path().join("lib"))
        .find(is_whole)
}

/// Builds and runs with this library. What was built with another one is kept.
fn configure(command: &mut Command, tree: &Tree, library: &Library) {
    command
        .env("MPICC", library.compiler)
        .env("TAUTLINE_MPIRUN", library.launcher)
        .env("CARGO_TARGET_DIR", target_dir(tree).join(library.name))
        // Another version may lack the headers.
        .envs(libclang().map(|folder| ("LIBCLANG_PATH", folder)))
        // Open MPI refuses to run as root, which a container often is.
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
}
