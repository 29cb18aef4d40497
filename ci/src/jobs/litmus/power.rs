//! POWER: `lwsync` before a release, `isync` behind a branch after an acquiring load, `lwsync`
//! after an acquiring update.

use super::assembly::{Exchange, Processor, Thread};
use super::program::Order;

pub(super) struct Power;

fn lead(t: &mut Thread, order: Order) {
    match order {
        Order::SeqCst => t.row("sync"),
        _ if order.releases() => t.row("lwsync"),
        _ => {}
    }
}

fn trail(t: &mut Thread, order: Order) {
    if order.acquires() {
        t.row("lwsync");
    }
}

impl Processor for Power {
    const NAME: &'static str = "PPC";
    // Register 0 reads as zero in an address.
    const FIRST: u32 = 1;

    fn wide(register: u32) -> String {
        format!("r{register}")
    }

    fn constant(t: &mut Thread, register: u32, value: u32) {
        t.row(format!("li r{register},{value}"));
    }

    fn load(t: &mut Thread, into: u32, address: u32, order: Order) {
        if order == Order::SeqCst {
            t.row("sync");
        }
        t.row(format!("lwz r{into},0(r{address})"));
        if order.acquires() {
            let next = t.label();
            t.row(format!("cmpw r{into},r{into}"));
            t.row(format!("bne {next}"));
            t.row(format!("{next}:"));
            t.row("isync");
        }
    }

    fn store(t: &mut Thread, from: u32, address: u32, order: Order) {
        lead(t, order);
        t.row(format!("stw r{from},0(r{address})"));
    }

    fn update(t: &mut Thread, into: u32, address: u32, from: u32, adds: bool, order: Order) {
        let mut new = from;
        lead(t, order);
        t.row(format!("lwarx r{into},r0,r{address}"));
        if adds {
            new = t.fresh();
            t.row(format!("add r{new},r{into},r{from}"));
        }
        t.row(format!("stwcx. r{new},r0,r{address}"));
        t.row(format!("bne {}", t.end()));
        trail(t, order);
    }

    fn exchange(t: &mut Thread, cas: &Exchange) {
        let (seen, differs, next) = (t.fresh(), t.label(), t.label());
        lead(t, cas.success);
        t.row(format!("lwarx r{seen},r0,r{}", cas.address));
        t.row(format!("cmpw r{seen},r{}", cas.old));
        t.row(format!("bne {differs}"));
        t.row(format!("stwcx. r{},r0,r{}", cas.new, cas.address));
        t.row(format!("bne {}", t.end()));
        trail(t, cas.success);
        Self::constant(t, cas.won, 1);
        t.row(format!("b {next}"));
        t.row(format!("{differs}:"));
        trail(t, cas.failure);
        t.row(format!("{next}:"));
    }

    fn fence(t: &mut Thread, order: Order) {
        t.row(if order == Order::SeqCst {
            "sync"
        } else {
            "lwsync"
        });
    }

    fn unless(t: &mut Thread, register: u32, value: u32, label: &str) {
        t.row(format!("cmpwi r{register},{value}"));
        t.row(format!("bne {label}"));
    }
}
