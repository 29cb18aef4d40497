//! Models of messages that are sent without a task, by a thread that gets the worker.

use super::{Scene, Shared, WORLD, send};
use loom::thread;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::*;
use tautline_verify::model::Model;

/// Sends without a task, or submits if another thread has the worker.
fn send_at_once(worker: &Combiner<Worker<Shared>>, tasks: &Tasks, tag: u32) {
    let mut sent = Err(vec![tag as u8].into());
    worker.run(|worker| {
        let Err(body) = &mut sent else {
            return worker.step();
        };
        let body = std::mem::take(body);
        sent = worker.send_at_once(WORLD, Rank(0), Tag(tag), body);
        true
    });
    if sent.is_err() {
        submit(worker, tasks, tag);
    }
}

fn submit(worker: &Combiner<Worker<Shared>>, tasks: &Tasks, tag: u32) {
    tasks.submit(send(tag), Arc::new(|_: Outcome| ()));
    worker.run(|worker| worker.step());
}

/// Each of two threads submits a message and sends one without a task, in either order: all leave
/// once, those of a thread in order.
fn direct(is_first: bool) {
    let Scene {
        worker, machine, ..
    } = Scene::new();
    let tasks = worker.tasks().clone();
    let scene = Arc::new((Combiner::new(worker), tasks));
    let both = move |(worker, tasks): &(Combiner<Worker<Shared>>, Tasks), first| {
        if is_first {
            send_at_once(worker, tasks, first);
            submit(worker, tasks, first + 1);
        } else {
            // It is not started yet if another thread has the worker.
            tasks.submit(send(first), Arc::new(|_: Outcome| ()));
            send_at_once(worker, tasks, first + 1);
        }
    };
    let other = {
        let scene = Arc::clone(&scene);
        thread::spawn(move || both(&scene, 1))
    };
    both(&scene, 11);
    other.join().unwrap();
    let sent = machine.sent();
    let of = |first: u32| sent.iter().copied().filter(move |tag| tag / 10 == first);
    assert!(of(0).eq([1, 2]) && of(1).eq([11, 12]), "{sent:?}");
}

#[test]
fn comm_direct() {
    Model::new("comm_direct")
        .bound(2)
        .floor(1_400)
        .check(|| direct(true));
}

#[test]
fn comm_direct_behind_a_task() {
    Model::new("comm_direct_behind_a_task")
        .bound(2)
        .floor(770)
        .check(|| direct(false));
}
