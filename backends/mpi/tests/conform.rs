//! The conformance suites, over ranks that a launcher of MPI starts: rank 0 runs them, and has a
//! [`Station`] for each link of another rank, which passes on what is called to that rank's
//! process.
//!
//! Started by hand, this program starts itself by `$TAUTLINE_MPIRUN`, or else `mpirun
//! --oversubscribe`, with [`RANKS`] ranks.

mod station;

use station::{End, Stations, serve};
use std::env;
use std::process::{Command, exit};
use tautline_conform::{carries, combines, conveys, loses, waits};
use tautline_core::Rank;
use tautline_core::comm::Matched;
use tautline_core::port::Link;
use tautline_mpi::Session;

/// The requirements of the suites.
const RANKS: u32 = 8;
/// The variable with the path of the socket between the processes.
const SOCKET: &str = "CONFORM_SOCKET";

fn main() {
    if env::args().any(|argument| argument == "--list") {
        return;
    }
    let Some(path) = env::var_os(SOCKET) else {
        exit(launch());
    };
    let session = Session::start().expect("MPI starts");
    assert_eq!(session.ranks(), RANKS);
    // SAFETY: no other link of this process exists yet.
    let link = unsafe { session.connect_beside(RANKS) }.expect("all ranks connect");
    let here = link.here();
    drop(link);
    if here != Rank(0) {
        return serve(&session, here, path.as_ref());
    }
    let stations = Stations::accept(&session, path.as_ref(), RANKS);
    let connect = |ranks| -> Vec<End> { stations.connect(ranks) };
    let with_packets = |ranks| {
        let links = stations.connect(ranks).into_iter();
        let both = links.map(|link| {
            let packets = link.packets();
            (link, packets)
        });
        both.collect()
    };
    // SAFETY: the suite starts the same operations at all ranks that take part.
    let matched = unsafe { Matched::promise() };
    for (name, suite) in [
        ("carries", &(|| carries(connect)) as &dyn Fn()),
        ("loses", &|| loses(connect)),
        ("waits", &|| waits(connect)),
        ("conveys", &|| conveys(with_packets)),
        ("combines", &|| combines(with_packets, matched)),
    ] {
        suite();
        println!("{name}: ok, {}", session.library());
    }
    stations.quit();
}

fn launch() -> i32 {
    let launcher = env::var("TAUTLINE_MPIRUN");
    let launcher = launcher.unwrap_or_else(|_| "mpirun --oversubscribe".to_owned());
    let mut words = launcher.split_whitespace();
    let path = env::temp_dir().join(format!("tautline-mpi-conform-{}", std::process::id()));
    let ended = Command::new(words.next().expect("a program"))
        .args(words)
        .args(["-n", &RANKS.to_string()])
        .arg(env::current_exe().expect("it runs"))
        .env(SOCKET, &path)
        .status()
        .expect("the launcher starts");
    // It may have failed before there was one.
    _ = std::fs::remove_file(path);
    ended.code().unwrap_or(1)
}
