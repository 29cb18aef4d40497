//! A program as C, for the models of the language.

use super::program::{Final, Op, Order, Program};
use std::fmt::Write;

/// Returns the text of a litmus test.
pub(super) fn text(name: &str, program: &Program) -> String {
    let mut expected = Vec::new();
    let mut functions = Vec::new();
    for ops in &program.threads {
        functions.push(body(ops, &mut expected));
    }
    let init = program
        .init
        .iter()
        .map(|(at, value)| format!("{} = {value};", place(at)));
    let expected = || expected.iter().enumerate();
    let old = expected().map(|(n, value)| format!("old{n} = {value};"));
    let init: Vec<String> = init.chain(old).collect();
    let atomics = program
        .init
        .keys()
        .map(|at| format!("atomic_int* {}", place(at)));
    let plain = expected().map(|(n, _)| format!("int* old{n}"));
    let parameters: Vec<String> = atomics.chain(plain).collect();
    let mut out = format!("C {name}\n{{ {} }}\n", init.join(" "));
    for (n, body) in functions.iter().enumerate() {
        _ = write!(out, "P{n} ({}) {{\n{body}}}\n", parameters.join(", "));
    }
    let finals: Vec<String> = program.outcome.iter().map(condition).collect();
    _ = writeln!(out, "exists ({})", finals.join(" /\\ "));
    out
}

fn condition(
    Final {
        thread,
        name,
        value,
    }: &Final,
) -> String {
    match thread {
        Some(thread) => format!("{thread}:{name}={value}"),
        None => format!("{}={value}", place(name)),
    }
}

/// A location, which may be named as a register is, or as a keyword of herd7.
fn place(at: &str) -> String {
    format!("at_{at}")
}

/// Returns the statements of a thread. `expected` are the locations of expected values so far.
fn body(ops: &[Op], expected: &mut Vec<u32>) -> String {
    let mut out = String::new();
    let mut open = 0;
    for op in ops {
        _ = writeln!(out, "{}{}", "  ".repeat(open + 1), statement(op, expected));
        open += usize::from(matches!(op, Op::When { .. }));
    }
    for open in (1..=open).rev() {
        _ = writeln!(out, "{}}}", "  ".repeat(open));
    }
    out
}

fn statement(op: &Op, expected: &mut Vec<u32>) -> String {
    match op {
        Op::Load { into, at, order } => {
            let (at, order) = (place(at), memory_order(*order));
            format!("int {into} = atomic_load_explicit({at}, {order});")
        }
        Op::Store { at, value, order } => {
            let (at, order) = (place(at), memory_order(*order));
            format!("atomic_store_explicit({at}, {value}, {order});")
        }
        Op::Update {
            adds,
            into,
            at,
            value,
            order,
        } => {
            let what = if *adds { "fetch_add" } else { "exchange" };
            let (at, order) = (place(at), memory_order(*order));
            format!("int {into} = atomic_{what}_explicit({at}, {value}, {order});")
        }
        Op::Cas {
            won,
            at,
            old,
            new,
            success,
            failure,
        } => {
            let old_at = format!("old{}", expected.len());
            expected.push(*old);
            let (success, failure) = (memory_order(*success), memory_order(*failure));
            let what = "atomic_compare_exchange_strong_explicit";
            let at = place(at);
            format!("int {won} = {what}({at}, {old_at}, {new}, {success}, {failure});")
        }
        Op::Fence(order) => format!("atomic_thread_fence({});", memory_order(*order)),
        Op::When { register, value } => format!("if ({register} == {value}) {{"),
        Op::Light { .. } | Op::Heavy { .. } => String::new(),
    }
}

fn memory_order(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "memory_order_relaxed",
        Order::Acquire => "memory_order_acquire",
        Order::Release => "memory_order_release",
        Order::AcqRel => "memory_order_acq_rel",
        Order::SeqCst => "memory_order_seq_cst",
    }
}
