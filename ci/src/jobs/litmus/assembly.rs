//! A program in the instructions that LLVM emits for a processor.
//!
//! A load-reserve that fails to store ends the thread, since a retry repeats what was covered. Such
//! an end, and one at a `when`, is excluded by a register that is set at the end of each thread.

use super::program::{Final, Op, Order, Program};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The instructions of one processor. Registers are numbers.
pub(super) trait Processor {
    /// The name that herd7 gives it.
    const NAME: &'static str;
    /// The first register in use.
    const FIRST: u32;

    /// The name of a register that holds an address, and in conditions.
    fn wide(register: u32) -> String;
    fn constant(thread: &mut Thread, register: u32, value: u32);
    fn load(thread: &mut Thread, into: u32, address: u32, order: Order);
    fn store(thread: &mut Thread, from: u32, address: u32, order: Order);
    /// Stores `from`, or if `adds` the sum of it and the previous value, which is left in `into`.
    fn update(thread: &mut Thread, into: u32, address: u32, from: u32, adds: bool, order: Order);
    fn exchange(thread: &mut Thread, cas: &Exchange);
    fn fence(thread: &mut Thread, order: Order);
    /// Jumps to `label` unless a register has a value.
    fn unless(thread: &mut Thread, register: u32, value: u32, label: &str);
}

/// A compare-exchange in registers.
pub(super) struct Exchange {
    pub won: u32,
    pub address: u32,
    pub old: u32,
    pub new: u32,
    pub success: Order,
    pub failure: Order,
}

/// The instructions of one thread so far.
pub(super) struct Thread {
    number: usize,
    rows: Vec<String>,
    named: BTreeMap<String, u32>,
    constants: BTreeMap<u32, u32>,
    next: u32,
    labels: usize,
}

impl Thread {
    pub(super) fn row(&mut self, instruction: impl Into<String>) {
        self.rows.push(instruction.into());
    }

    /// Returns a register that is not in use.
    pub(super) fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Returns a label of this thread that is not in use.
    pub(super) fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}{}", self.number, self.labels)
    }

    /// The label of the end of the thread.
    pub(super) fn end(&self) -> String {
        format!("END{}", self.number)
    }

    fn named(&mut self, name: &str) -> u32 {
        if let Some(known) = self.named.get(name) {
            return *known;
        }
        let register = self.fresh();
        self.named.insert(name.to_owned(), register);
        register
    }

    /// Returns a register with a constant, which keeps it: jumps lead forward to the end only.
    fn holding<P: Processor>(&mut self, value: u32) -> u32 {
        if let Some(known) = self.constants.get(&value) {
            return *known;
        }
        let register = self.fresh();
        P::constant(self, register, value);
        self.constants.insert(value, register);
        register
    }
}

/// Set once a thread has executed all of its operations.
const DONE: &str = "done";

/// Returns the text of a litmus test.
pub(super) fn text<P: Processor>(name: &str, program: &Program) -> String {
    let places: Vec<&String> = program.init.keys().collect();
    let threads = program.threads.iter().enumerate();
    let threads: Vec<Thread> = threads
        .map(|(number, ops)| assemble::<P>(number, ops, &places))
        .collect();
    let mut out = format!("{} {name}\n{{\n", P::NAME);
    for (at, value) in &program.init {
        _ = writeln!(out, "{at}={value};");
    }
    for thread in 0..threads.len() {
        for (register, at) in (P::FIRST..).zip(&places) {
            _ = writeln!(out, "{thread}:{}={at};", P::wide(register));
        }
    }
    out += "}\n";
    out += &columns(&threads);
    let ends = (0..threads.len()).map(|thread| Final {
        thread: Some(thread),
        name: DONE.to_owned(),
        value: 1,
    });
    let finals = program.outcome.iter().cloned().chain(ends);
    let finals = finals.map(|last| match last.thread {
        Some(at) => {
            let register = P::wide(threads[at].named[&last.name]);
            format!("{at}:{register}={}", last.value)
        }
        None => format!("{}={}", last.name, last.value),
    });
    let finals: Vec<String> = finals.collect();
    _ = writeln!(out, "exists ({})", finals.join(" /\\ "));
    out
}

fn assemble<P: Processor>(number: usize, ops: &[Op], places: &[&String]) -> Thread {
    let mut thread = Thread {
        number,
        rows: Vec::new(),
        named: BTreeMap::new(),
        constants: BTreeMap::new(),
        next: P::FIRST + places.len() as u32,
        labels: 0,
    };
    for op in ops {
        operation::<P>(&mut thread, op, places);
    }
    let done = thread.named(DONE);
    P::constant(&mut thread, done, 1);
    thread.row(format!("{}:", thread.end()));
    thread
}

/// Appends the instructions of an operation.
fn operation<P: Processor>(t: &mut Thread, op: &Op, places: &[&String]) {
    let address = |at: &String| {
        let index = places.iter().position(|place| *place == at);
        P::FIRST + index.expect("a checked program has first values") as u32
    };
    match op {
        Op::Load { into, at, order } => {
            let into = t.named(into);
            P::load(t, into, address(at), *order);
        }
        Op::Store { at, value, order } => {
            let from = t.holding::<P>(*value);
            P::store(t, from, address(at), *order);
        }
        Op::Update {
            adds,
            into,
            at,
            value,
            order,
        } => {
            let from = t.holding::<P>(*value);
            let into = t.named(into);
            P::update(t, into, address(at), from, *adds, *order);
        }
        Op::Cas {
            won,
            at,
            old,
            new,
            success,
            failure,
        } => {
            let cas = Exchange {
                old: t.holding::<P>(*old),
                new: t.holding::<P>(*new),
                won: t.named(won),
                address: address(at),
                success: *success,
                failure: *failure,
            };
            P::constant(t, cas.won, 0);
            P::exchange(t, &cas);
        }
        Op::Fence(order) => P::fence(t, *order),
        Op::When { register, value } => {
            let (register, end) = (t.named(register), t.end());
            P::unless(t, register, *value, &end);
        }
        Op::Light { .. } | Op::Heavy { .. } => {}
    }
}

/// The threads side by side, as herd7 reads them.
fn columns(threads: &[Thread]) -> String {
    let height = threads.iter().map(|t| t.rows.len()).max().unwrap_or(0);
    let line = |cells: Vec<&str>| format!("{} ;\n", cells.join(" | "));
    let names: Vec<String> = threads.iter().map(|t| format!("P{}", t.number)).collect();
    let mut out = line(names.iter().map(String::as_str).collect());
    for row in 0..height {
        let cells = threads
            .iter()
            .map(|t| t.rows.get(row).map_or("", String::as_str));
        out += &line(cells.collect());
    }
    out
}
