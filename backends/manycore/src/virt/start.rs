//! From power-on to the program, and from a panic or a trap to the end.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | H1 | `set_entry` | `other` | what was done before the start | `verify/litmus/start.toml` |

use super::{CLINT, MOST_HARTS, STACK_SHIFT, Virt, stack};
use crate::Board;
use core::arch::global_asm;
use core::mem::{MaybeUninit, transmute};
use core::panic::PanicInfo;
use core::ptr;
use core::slice;
use fdt::Fdt;
use tautline_core::sync::{AtomicPtr, Ordering};

// Each hart: its number into the thread pointer; traps, floating point, a stack whose guard is
// locked by the first entry of the physical memory protection. The second is off; by the third user
// mode may use all memory, and from then on loads and stores have its rights (see `stack`). Hart 0
// clears zero-initialized memory and continues with the address of the device tree; the others
// sleep until their software interrupt is pending, and take it.
global_asm!(
    ".section .text.start, \"ax\"",
    ".globl _start",
    "_start:",
    "csrw mie, zero",
    "csrr tp, mhartid",
    "li t0, {harts}",
    "bgeu tp, t0, 9f",
    "la t0, __trap",
    "csrw mtvec, t0",
    "li t0, 0x2000",
    "csrs mstatus, t0",
    "csrw fcsr, zero",
    "la t1, __stacks",
    "slli t0, tp, {shift}",
    "add t1, t1, t0",
    "li sp, 1 << {shift}",
    "add sp, sp, t1",
    "srli t0, t1, 2",
    "li t2, {guard}",
    "or t0, t0, t2",
    "csrw pmpaddr0, t0",
    "li t0, -1",
    "csrw pmpaddr2, t0",
    "li t0, 0x1f0098",
    "csrw pmpcfg0, t0",
    "li t0, 0x1800",
    "csrc mstatus, t0",
    "li t0, 0x20000",
    "csrs mstatus, t0",
    "bnez tp, 2f",
    "la t0, __zero_start",
    "la t1, __zero_end",
    "1: bgeu t0, t1, 1f",
    "sd zero, 0(t0)",
    "addi t0, t0, 8",
    "j 1b",
    "1: mv a0, a1",
    "call {first}",
    "2: li t0, 8",
    "csrw mie, t0",
    "3: wfi",
    "csrr t0, mip",
    "andi t0, t0, 8",
    "beqz t0, 3b",
    "li t0, {clint}",
    "slli t1, tp, 2",
    "add t0, t0, t1",
    "sw zero, 0(t0)",
    "fence iorw, iorw",
    "call {other}",
    "9: wfi",
    "j 9b",
    harts = const MOST_HARTS,
    shift = const STACK_SHIFT,
    guard = const stack::GUARD_BYTES / 8 - 1,
    clint = const CLINT,
    first = sym first,
    other = sym other,
);

// SAFETY (the contract of the linker script): the program defines it with this signature.
unsafe extern "Rust" {
    safe fn board_main(found: Found) -> !;
}

/// The machine according to its device tree.
#[derive(Debug)]
pub struct Found {
    /// The number of harts, 64 at most.
    pub harts: usize,
    /// The memory that neither the program nor its stacks use.
    pub memory: &'static mut [MaybeUninit<u8>],
}

static ENTRY: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Sets the function that harts other than 0 call when they are woken.
pub(super) fn set_entry(entry: fn(usize)) {
    // ORDERING: Release, pairs with Acquire in other (H1). The interrupt that starts a hart orders
    // devices and memory, too.
    ENTRY.store(entry as *mut (), Ordering::Release);
}

extern "C" fn first(tree: *const u8) -> ! {
    // SAFETY: the machine passes the address of its tree to every hart; nothing has been written
    // after the stacks.
    let described = unsafe { Fdt::from_ptr(tree) };
    let described = described.unwrap_or_else(|error| panic!("device tree at {tree:p}: {error}"));
    let harts = described.cpus().count().min(MOST_HARTS);
    let start = stack::lowest(harts);
    let memory = described.memory();
    let mut regions = memory.regions();
    let end = regions.find_map(|region| {
        let from = region.starting_address.addr();
        let to = from + region.size?;
        (from..to).contains(&start).then_some(to)
    });
    let bytes = end.expect("the program lies in memory that the tree names") - start;
    let start = ptr::with_exposed_provenance_mut(start);
    // SAFETY: nothing after the stacks is in use: the tree, which may lie there, is not read any
    // more.
    let memory = unsafe { slice::from_raw_parts_mut(start, bytes) };
    board_main(Found { harts, memory })
}

extern "C" fn other() {
    // ORDERING: Acquire, pairs with Release in set_entry (H1).
    let entry = ENTRY.load(Ordering::Acquire);
    if !entry.is_null() {
        // SAFETY: `set_entry` stored such a function.
        let entry = unsafe { transmute::<*mut (), fn(usize)>(entry) };
        entry(Virt.hart());
    }
}

// The vector must be a multiple of 4, and the stack may be the cause of the trap: execution
// continues at its top, since a trap does not return.
global_asm!(
    ".section .text.trap, \"ax\"",
    ".balign 4",
    "__trap:",
    "la sp, __stacks",
    "addi t0, tp, 1",
    "slli t0, t0, {shift}",
    "add sp, sp, t0",
    "csrr a0, mcause",
    "csrr a1, mepc",
    "csrr a2, mtval",
    "j {trapped}",
    shift = const STACK_SHIFT,
    trapped = sym trapped,
);

extern "C" fn trapped(cause: usize, at: usize, value: usize) -> ! {
    let hart = Virt.hart();
    let guard = stack::guard(hart);
    if guard.contains(&value) {
        let own = guard.start == stack::lowest(hart);
        let which = if own {
            "its stack"
        } else {
            "its piece of stack"
        };
        panic!("hart {hart}: {which} is full, at {at:#x}");
    }
    panic!("hart {hart}: trap {cause} at {at:#x}, value {value:#x}");
}

#[panic_handler]
fn panic(panic: &PanicInfo<'_>) -> ! {
    Virt.cry(format_args!("{panic}\nFAIL\n"));
    Virt.exit(1)
}
