//! Ranks as child processes: what they exchange, and how they end.
//!
//! This program starts itself: as a rank it runs the test `rank` alone, which plays the role that
//! the variable `ROLE` names.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio, exit};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, hint, io};
use tautline_core::Rank;
use tautline_core::port::{Link, Lost};
use tautline_process::{End, Ended, Launch, join};

type AnyLink = Box<dyn Link + Send>;

const FOR_EVER: u64 = u64::MAX >> 8;

/// Launches this program in `role`.
fn launch(role: &str, ranks: u32) -> Launch {
    let program = env::current_exe().expect("it runs");
    let launch = Launch::new(program, ranks).env("ROLE", role);
    launch.args(["--exact", "rank", "--nocapture", "--include-ignored"])
}

fn run(role: &str, ranks: u32) -> Ended {
    launch(role, ranks).run().expect("it starts")
}

/// The program of a rank.
#[test]
#[ignore = "by hand: the program of ranks, which other tests start"]
fn rank() {
    let Ok(role) = env::var("ROLE") else { return };
    if role == "launcher" {
        exit(run("idle", 3).code().into());
    }
    let link = join().expect("launched").expect("launched");
    exit(match &*role {
        "talk" => talk(link),
        "die" => die(link),
        "flee" => flee(link),
        "idle" => idle(link),
        "stay" => stay(link),
        "twice" => twice(&link),
        role => panic!("{role}"),
    });
}

/// Sends what depends on the rank to all others, and checks what they send.
fn talk(mut link: AnyLink) -> i32 {
    let (here, ranks) = (link.here(), link.ranks());
    let parcel = |from: Rank, number: usize| vec![from.0 as u8; number * number * 37 % 300_000];
    let others: Vec<Rank> = (0..ranks).map(Rank).filter(|rank| *rank != here).collect();
    const PARCELS: usize = 40;
    let mut received = vec![0; ranks as usize];
    for number in 0..PARCELS {
        for to in &others {
            link.send(*to, &parcel(here, number));
        }
    }
    let mut lost = 0;
    let is_done = |received: &[usize]| others.iter().all(|r| received[r.index()] == PARCELS);
    while !is_done(&received) || others.iter().any(|to| link.unsent(*to) > 0) {
        link.wait(FOR_EVER);
        let polled = link.poll(&mut |from, bytes| {
            assert_eq!(bytes, parcel(from, received[from.index()]), "from {from}");
            received[from.index()] += 1;
        });
        // The others leave once they have everything.
        lost += usize::from(polled.is_err());
    }
    assert!(lost <= others.len());
    0
}

#[test]
fn ranks_exchange_parcels() {
    for ranks in [1, 2, 3, 4] {
        let ended = run("talk", ranks);
        assert_eq!(ended.ranks, vec![End::Code(0); ranks as usize]);
    }
    let short = launch("talk", 3).ring_bytes(64).run().expect("it starts");
    assert_eq!(short.code(), 0);
}

/// The last rank kills itself after a delay that differs from run to run; the others wait for its
/// loss, and end with its number.
fn die(mut link: AnyLink) -> i32 {
    let (here, ranks) = (link.here(), link.ranks());
    let last = Rank(ranks - 1);
    if here == last {
        let delay: u64 = env::var("DELAY")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        thread::spawn(move || {
            (0..delay).for_each(|_| hint::spin_loop());
            Command::new("sh")
                .args(["-c", "kill $0 $1", "-KILL", &std::process::id().to_string()])
                .status()
        });
    }
    loop {
        for to in (0..ranks).map(Rank).filter(|to| *to != here) {
            // Parcels of one piece and of several, but never too many.
            if link.unsent(to) < 1 << 20 {
                link.send(to, &[7; 5000]);
                link.send(to, &[7; 500_000]);
            }
        }
        if let Err(Lost { rank, doing, .. }) =
            link.poll(&mut |_, parcel| assert!(parcel.iter().all(|b| *b == 7)))
        {
            if rank == last {
                assert_eq!(doing, "receiving from it");
                return 50;
            }
        }
        if here.0 % 2 == 1 {
            link.wait(FOR_EVER);
        }
    }
}

#[test]
fn a_killed_rank_is_lost_for_all_others() {
    let mut random = 1_u64;
    for ranks in [2, 3, 4].into_iter().cycle().take(24) {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let delay = (random >> 44).to_string();
        let ended = launch("die", ranks)
            .env("DELAY", delay)
            .run()
            .expect("it starts");
        let (last, others) = ended.ranks.split_last().expect("ranks");
        assert_eq!(*last, End::Signal(9));
        assert!(others.iter().all(|end| *end == End::Code(50)), "{ended:?}");
        assert_eq!(ended.code(), 137);
    }
}

/// Rank 0 sleeps; then rank 1 ends without a word, and without dropping its link.
fn flee(mut link: AnyLink) -> i32 {
    if link.here() == Rank(0) {
        // SAFETY: the call takes nothing.
        let thread = unsafe { libc::gettid() };
        let stat = format!("/proc/{}/task/{thread}/stat", std::process::id());
        link.send(Rank(1), stat.as_bytes());
    }
    loop {
        let mut stat = None;
        let polled =
            link.poll(&mut |_, parcel| stat = Some(String::from_utf8_lossy(parcel).into_owned()));
        if let Err(lost) = polled {
            assert_eq!(lost.rank, Rank(1));
            return 51;
        }
        if let Some(stat) = stat {
            while !fs::read_to_string(&stat).expect("it runs").contains(") S ") {
                thread::yield_now();
            }
            exit(7);
        }
        link.wait(FOR_EVER);
    }
}

#[test]
fn a_rank_that_exits_wakes_those_that_sleep() {
    let ended = run("flee", 2);
    assert_eq!(ended.ranks, [End::Code(51), End::Code(7)]);
}

/// A rank that does not poll does not outlive the failure of another one.
fn stay(link: AnyLink) -> i32 {
    if link.here() == Rank(1) {
        exit(7);
    }
    loop {
        thread::park();
    }
}

#[test]
fn a_rank_that_does_not_notice_is_killed() {
    let start = Instant::now();
    let ended = run("stay", 3);
    assert_eq!(ended.ranks, [End::Killed, End::Code(7), End::Killed]);
    assert!(
        start.elapsed() >= Duration::from_millis(1500),
        "they are given time"
    );
    assert_eq!(ended.code(), 7);
}

/// Waits until it is killed, having announced itself.
fn idle(mut link: AnyLink) -> i32 {
    if link.here() == Rank(0) {
        print!("!");
        io::stdout().flush().expect("the test reads it");
    }
    loop {
        link.wait(FOR_EVER);
        let _ = link.poll(&mut |_, _| ());
    }
}

/// All processes of a launch hold the standard error of a script around the launcher's open, so its
/// end is their end.
#[test]
fn ranks_do_not_outlive_the_launcher() {
    let (alive, held) = io::pipe().expect("a pipe");
    keep_open(&held);
    let mut launcher = Command::new(env::current_exe().expect("it runs"))
        .args(["--exact", "rank", "--nocapture", "--include-ignored"])
        .env("ROLE", "launcher")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(held);
    let mut out = launcher.stdout.take().expect("piped");
    let mut byte = [0];
    while byte[0] != b'!' {
        out.read_exact(&mut byte).expect("rank 0 announces itself");
    }
    launcher.kill().expect("it runs");
    launcher.wait().expect("killed");
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        done.send(
            fs::File::from(OwnedFd::from(alive))
                .read(&mut [0])
                .expect("a pipe"),
        )
    });
    let end = ended.recv_timeout(Duration::from_secs(60));
    assert_eq!(end, Ok(0), "a process of the launch is left");
}

/// Lets the programs that are started from now on inherit a file.
fn keep_open(file: &impl AsRawFd) {
    // SAFETY: the call takes numbers alone.
    let set = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFD, 0) };
    assert_eq!(set, 0);
}

/// A second link of a process is refused.
fn twice(link: &AnyLink) -> i32 {
    let error = join().map(|_| ()).expect_err("a second call").to_string();
    let rank = link.here().0;
    let line = format!("TAUTLINE_RANK {rank}: this process has joined as this rank before");
    assert_eq!(error, line);
    0
}

#[test]
fn a_process_joins_once() {
    assert_eq!(run("twice", 2).code(), 0);
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let error = Launch::new("/no/such/program", 3)
        .run()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("/no/such/program: cannot be started: "),
        "{error}"
    );
}

/// Starts and ends again and again.
fn cycles(times: usize) {
    for _ in 0..times {
        assert_eq!(run("talk", 2).code(), 0);
    }
}

#[test]
fn launches_do_not_add_up() {
    cycles(10);
}

#[test]
#[ignore = "cargo ci deep: a thousand launches"]
fn a_thousand_launches() {
    cycles(1000);
}
