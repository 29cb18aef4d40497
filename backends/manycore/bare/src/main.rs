//! boot probe
#![no_std]
#![no_main]
extern crate alloc;
use tautline_manycore::virt::{Found, Virt};
use tautline_manycore::Heap;

#[global_allocator]
static HEAP: Heap<Virt> = Heap::new(Virt);

#[unsafe(no_mangle)]
fn board_main(found: Found) -> ! {
    Virt.say(format_args!("{} harts, {} bytes\n", found.harts, found.memory.len()));
    HEAP.give(found.memory, found.harts);
    let v: alloc::vec::Vec<u64> = (0..1000).collect();
    Virt.say(format_args!("{}\n", v.iter().sum::<u64>()));
    Virt.exit(0)
}
