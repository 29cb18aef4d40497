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
        let indent = "  ".repeat(open + 1);
        let line = match op {
            Op::Load { into, at, order } => {
                format!(
                    "int {into} = atomic_load_explicit({}, {});",
                    place(at),
                    memory_order(*order)
                )
            }
            Op::Store { at, value, order } => {
                format!(
                    "atomic_store_explicit({}, {value}, {});",
                    place(at),
                    memory_order(*order)
                )
            }
            Op::Swap {
                into,
                at,
                value,
                order,
            } => update("exchange", into, at, *value, *order),
            Op::Add {
                into,
                at,
                value,
                order,
            } => update("fetch_add", into, at, *value, *order),
            Op::Cas {
                won,
                at,
                old,
                new,
                success,
                failure,
            } => {
                expected.push(*old);
                format!(
                    "int {won} = atomic_compare_exchange_strong_explicit({}, old{}, {new}, {}, {});",
                    place(at),
                    expected.len() - 1,
                    memory_order(*success),
                    memory_order(*failure)
                )
            }
            Op::Fence(order) => format!("atomic_thread_fence({});", memory_order(*order)),
            Op::When { register, value } => {
                open += 1;
                format!("if ({register} == {value}) {{")
            }
            Op::Light { .. } | Op::Heavy { .. } => continue,
        };
        _ = writeln!(out, "{indent}{line}");
    }
    while open > 0 {
        _ = writeln!(out, "{}}}", "  ".repeat(open));
        open -= 1;
    }
    out
}

fn update(what: &str, into: &str, at: &str, value: u32, order: Order) -> String {
    format!(
        "int {into} = atomic_{what}_explicit({}, {value}, {});",
        place(at),
        memory_order(order)
    )
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
