//! The library passes its messages to a hook of the program. One test, since the hook is that of
//! the process.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tautline::messages;
use tautline::prelude::*;
use tautline::watch::Stalled;

#[test]
fn a_hook_gets_the_report_of_a_standstill() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    messages::set_hook(|_| panic!("it was replaced"));
    messages::set_hook(move |message| sink.lock().unwrap().push(message.to_owned()));
    let builder = Runtime::builder().workers(1).pinned(false);
    let rt = builder
        .stalled(Stalled::Report)
        .build()
        .expect("threads start");
    let cell = Ddf::new();
    thread::scope(|threads| {
        threads.spawn(|| {
            while heard.lock().unwrap().is_empty() {
                thread::sleep(Duration::from_millis(10));
            }
            cell.put(1).unwrap();
        });
        rt.run(|cx| cx.spawn_when(&cell, |one, _| assert_eq!(*one, 1)));
    });
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 1, "{heard:?}");
    let line = "tautline: nothing can go on unless another thread acts: 1 wait for a cell at platforms/tests/messages.rs:";
    assert!(heard[0].starts_with(line), "{heard:?}");
    assert!(!heard[0].ends_with('\n'));
}
