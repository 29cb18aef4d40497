//! A server whose requests are computations: `GET /queens/12` counts the ways to place 12 queens.
//!
//! A computation ends after a time-out, and when its client closes the connection: both drop the
//! future of the handler, and with it that of `run_async`, which cancels the computation.
//! Computations start in the order of their requests. The threads of tokio only wait, so
//! `GET /boards`, the number of boards visited so far, is answered at any time.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tautline::prelude::*;
use tokio::time::timeout;

/// The state of the server.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    time_out: Duration,
    boards: Arc<AtomicU64>,
}

impl Server {
    /// Creates a server that computes with `runtime`, a request for `time_out` at most.
    pub fn new(runtime: Runtime, time_out: Duration) -> Self {
        Self {
            runtime,
            time_out,
            boards: Arc::default(),
        }
    }

    /// Returns the service.
    pub fn router(self) -> Router {
        Router::new()
            .route("/queens/{size}", get(queens))
            .route("/boards", get(boards))
            .with_state(Arc::new(self))
    }
}

type Answer = Result<String, (StatusCode, String)>;

async fn queens(State(server): State<Arc<Server>>, Path(size): Path<u32>) -> Answer {
    if !(1..=24).contains(&size) {
        let line = format!("{size} queens: from 1 to 24\n");
        return Err((StatusCode::BAD_REQUEST, line));
    }
    let boards = Arc::clone(&server.boards);
    let ways = server.runtime.run_async(move |cx| {
        let all = (1 << size) - 1;
        ways(cx, &boards, all, [0; 3])
    });
    match timeout(server.time_out, ways).await {
        Ok(Ok(ways)) => Ok(format!("{ways}\n")),
        // The text of a panic; the server continues.
        Ok(Err(failure)) => Err((StatusCode::INTERNAL_SERVER_ERROR, format!("{failure}\n"))),
        Err(_) => {
            let line = format!("{size} queens: more than {:?}\n", server.time_out);
            Err((StatusCode::GATEWAY_TIMEOUT, line))
        }
    }
}

async fn boards(State(server): State<Arc<Server>>) -> String {
    format!("{}\n", server.boards.load(Relaxed))
}

/// The ways to place queens on the rows that are left; `taken` are the columns and the diagonals of
/// those placed.
fn ways(cx: &mut Cx, boards: &AtomicU64, all: u32, taken: [u32; 3]) -> u64 {
    boards.fetch_add(1, Relaxed);
    let [columns, left, right] = taken;
    if columns == all {
        return 1;
    }
    let free = all & !(columns | left | right);
    let squares = (0..u32::BITS).map(|column| 1 << column);
    let squares: Vec<u32> = squares.filter(|square| free & square != 0).collect();
    let sum = AtomicU64::new(0);
    // A cancelled computation begins no further loop.
    cx.par(squares).with_cx().for_each(|cx, square| {
        let taken = [
            columns | square,
            (left | square) << 1,
            (right | square) >> 1,
        ];
        sum.fetch_add(ways(cx, boards, all, taken), Relaxed);
    });
    sum.into_inner()
}
