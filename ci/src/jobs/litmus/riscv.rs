//! RISC-V: fences around loads and stores, annotated updates.

use super::assembly::{Exchange, Processor, Thread};
use super::program::Order;

pub(super) struct RiscV;

fn annotation(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "",
        Order::Acquire => ".aq",
        Order::Release => ".rl",
        Order::AcqRel | Order::SeqCst => ".aq.rl",
    }
}

impl Processor for RiscV {
    const NAME: &'static str = "RISCV";
    // Those below have uses of their own in the calling convention.
    const FIRST: u32 = 5;

    fn wide(register: u32) -> String {
        format!("x{register}")
    }

    fn constant(t: &mut Thread, register: u32, value: u32) {
        t.row(format!("ori x{register},x0,{value}"));
    }

    fn load(t: &mut Thread, into: u32, address: u32, order: Order) {
        if order == Order::SeqCst {
            t.row("fence rw,rw");
        }
        t.row(format!("lw x{into},0(x{address})"));
        if order.acquires() {
            t.row("fence r,rw");
        }
    }

    fn store(t: &mut Thread, from: u32, address: u32, order: Order) {
        if order.releases() {
            t.row("fence rw,w");
        }
        t.row(format!("sw x{from},0(x{address})"));
    }

    fn update(t: &mut Thread, into: u32, address: u32, from: u32, adds: bool, order: Order) {
        let what = if adds { "amoadd" } else { "amoswap" };
        t.row(format!(
            "{what}.w{} x{into},x{from},(x{address})",
            annotation(order)
        ));
    }

    fn exchange(t: &mut Thread, cas: &Exchange) {
        let (seen, failed, differs, end) = (t.fresh(), t.fresh(), t.label(), t.end());
        let acquires = cas.success.acquires() || cas.failure.acquires();
        let acquire = if acquires { ".aq" } else { "" };
        let release = if cas.success.releases() { ".rl" } else { "" };
        t.row(format!("lr.w{acquire} x{seen},(x{})", cas.address));
        t.row(format!("bne x{seen},x{},{differs}", cas.old));
        t.row(format!(
            "sc.w{release} x{failed},x{},(x{})",
            cas.new, cas.address
        ));
        t.row(format!("bne x{failed},x0,{end}"));
        Self::constant(t, cas.won, 1);
        t.row(format!("{differs}:"));
    }

    fn fence(t: &mut Thread, order: Order) {
        t.row(match order {
            Order::Acquire => "fence r,rw",
            Order::Release => "fence rw,w",
            _ => "fence rw,rw",
        });
    }

    fn unless(t: &mut Thread, register: u32, value: u32, label: &str) {
        let expected = t.fresh();
        Self::constant(t, expected, value);
        t.row(format!("bne x{register},x{expected},{label}"));
    }
}
