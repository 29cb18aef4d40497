//! Serves on the port of this machine that is its argument: `tautline-server 3000`, then
//! `curl localhost:3000/queens/12`.

use std::time::Duration;
use tautline::prelude::*;
use tautline_server::Server;
use tokio::net::TcpListener;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "3000".into());
    let port: u16 = port
        .parse()
        .map_err(|_| format!("{port}: a port, from 0 to 65535"))?;
    // The system may move the workers: they share the processors with the threads of tokio.
    let runtime = Runtime::builder().pinned(false).build()?;
    let server = Server::new(runtime, Duration::from_secs(5));
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    tokio.block_on(async {
        let listener = TcpListener::bind(("localhost", port)).await?;
        println!("listening on http://{}", listener.local_addr()?);
        axum::serve(listener, server.router()).await
    })?;
    Ok(())
}
