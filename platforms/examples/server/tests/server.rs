//! The promises of the server, measured from outside.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tautline::prelude::*;
use tautline_server::Server;
use tokio::net::TcpListener;

const MOMENT: Duration = Duration::from_millis(100);

/// Starts a server with one worker for the rest of the process, and returns its address.
fn start(time_out: Duration) -> SocketAddr {
    let runtime = Runtime::builder().workers(1).pinned(false).build();
    let server = Server::new(runtime.expect("workers"), time_out);
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("threads");
    let listener = tokio.block_on(TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || tokio.block_on(async { axum::serve(listener, server.router()).await }));
    address
}

fn request(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let head = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it reads");
    stream
}

/// The status of an answer and its text.
fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

fn get(address: SocketAddr, path: &str) -> (u16, String) {
    answer(request(address, path))
}

fn boards(address: SocketAddr) -> u64 {
    let (status, text) = get(address, "/boards");
    assert_eq!(status, 200);
    text.trim().parse().expect("a number")
}

/// Asserts that the computation has begun, and that it ends soon: no further board is visited.
fn assert_stops(address: SocketAddr) {
    let (mut before, from) = (boards(address), Instant::now());
    assert!(before > 0, "it has begun");
    loop {
        // A sleep, since that no task begins is no event.
        sleep(MOMENT);
        let now = boards(address);
        if now == before {
            return;
        }
        before = now;
        assert!(from.elapsed() < 50 * MOMENT, "it continues");
    }
}

#[test]
fn a_count_is_right_and_a_wrong_size_is_refused() {
    let address = start(600 * MOMENT);
    assert_eq!(get(address, "/queens/8"), (200, "92\n".into()));
    let line = "25 queens: from 1 to 24\n";
    assert_eq!(get(address, "/queens/25"), (400, line.into()));
}

#[test]
fn a_time_out_is_answered_and_ends_the_computation() {
    let address = start(5 * MOMENT);
    let from = Instant::now();
    let (status, text) = get(address, "/queens/24");
    assert_eq!((status, &*text), (504, "24 queens: more than 500ms\n"));
    assert!(from.elapsed() >= 5 * MOMENT);
    assert_stops(address);
}

#[test]
fn a_client_that_leaves_ends_the_computation() {
    let address = start(6000 * MOMENT);
    let client = request(address, "/queens/24");
    while boards(address) == 0 {
        // A sleep, since the server reports no begin of a task by itself.
        sleep(MOMENT / 10);
    }
    drop(client);
    assert_stops(address);
}

/// The last one would be the first if the newest were started first. A few may overtake each other:
/// several run at once, and the system schedules the clients.
#[test]
fn the_first_request_is_the_first_that_is_answered() {
    let address = start(600 * MOMENT);
    let clients: Vec<_> = (0..24)
        .map(|_| {
            let client = request(address, "/queens/10");
            // A sleep, so that the requests arrive in this order.
            sleep(MOMENT / 50);
            thread::spawn(move || {
                assert_eq!(answer(client), (200, "724\n".into()));
                Instant::now()
            })
        })
        .collect();
    let ends = clients
        .into_iter()
        .map(|client| client.join().expect("an answer"));
    let ends: Vec<_> = ends.collect();
    for (at, end) in ends.iter().enumerate() {
        let earlier = ends.iter().filter(|other| *other < end).count();
        assert!(
            earlier.abs_diff(at) <= 8,
            "request {at} was answered after {earlier} others"
        );
    }
}
