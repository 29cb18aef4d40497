//! Armv8 by exclusive accesses, as without the extension LSE.

use super::assembly::{Exchange, Processor, Thread};
use super::program::Order;

pub(super) struct AArch64;

fn load_exclusive(acquires: bool) -> &'static str {
    if acquires { "LDAXR" } else { "LDXR" }
}

fn store_exclusive(releases: bool) -> &'static str {
    if releases { "STLXR" } else { "STXR" }
}

impl Processor for AArch64 {
    const NAME: &'static str = "AArch64";
    const FIRST: u32 = 0;

    fn wide(register: u32) -> String {
        format!("X{register}")
    }

    fn constant(t: &mut Thread, register: u32, value: u32) {
        t.row(format!("MOV W{register},#{value}"));
    }

    fn load(t: &mut Thread, into: u32, address: u32, order: Order) {
        let load = if order.acquires() { "LDAR" } else { "LDR" };
        t.row(format!("{load} W{into},[X{address}]"));
    }

    fn store(t: &mut Thread, from: u32, address: u32, order: Order) {
        let store = if order.releases() { "STLR" } else { "STR" };
        t.row(format!("{store} W{from},[X{address}]"));
    }

    fn update(t: &mut Thread, into: u32, address: u32, from: u32, adds: bool, order: Order) {
        let (mut new, failed, end) = (from, t.fresh(), t.end());
        t.row(format!(
            "{} W{into},[X{address}]",
            load_exclusive(order.acquires())
        ));
        if adds {
            new = t.fresh();
            t.row(format!("ADD W{new},W{into},W{from}"));
        }
        let store = store_exclusive(order.releases());
        t.row(format!("{store} W{failed},W{new},[X{address}]"));
        t.row(format!("CBNZ W{failed},{end}"));
    }

    fn exchange(t: &mut Thread, cas: &Exchange) {
        let (seen, failed, differs, end) = (t.fresh(), t.fresh(), t.label(), t.end());
        let load = load_exclusive(cas.success.acquires() || cas.failure.acquires());
        t.row(format!("{load} W{seen},[X{}]", cas.address));
        t.row(format!("CMP W{seen},W{}", cas.old));
        t.row(format!("B.NE {differs}"));
        let store = store_exclusive(cas.success.releases());
        t.row(format!("{store} W{failed},W{},[X{}]", cas.new, cas.address));
        t.row(format!("CBNZ W{failed},{end}"));
        Self::constant(t, cas.won, 1);
        t.row(format!("{differs}:"));
    }

    fn fence(t: &mut Thread, order: Order) {
        t.row(match order {
            Order::Acquire => "DMB ISHLD",
            _ => "DMB ISH",
        });
    }

    fn unless(t: &mut Thread, register: u32, value: u32, label: &str) {
        t.row(format!("CMP W{register},#{value}"));
        t.row(format!("B.NE {label}"));
    }
}
