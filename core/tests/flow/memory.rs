//! Memory use of cells and of their waiters.

use std::mem::size_of;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tautline_core::flow::{All, Ddf, Inputs, Node, NodeBox, Ready, when_all_scoped};

/// A node is converted to a thin pointer and back, as a queue of tasks does.
#[test]
fn a_ready_node_can_wait_in_a_queue_without_more_memory() {
    static QUEUE: Mutex<Vec<Thin>> = Mutex::new(Vec::new());
    struct Thin(*mut Task);
    // SAFETY: only the queue refers to the tasks in it.
    unsafe impl Send for Thin {}
    #[repr(C)]
    struct Task {
        run: unsafe fn(*mut Task),
        scale: u32,
        done: Arc<AtomicUsize>,
    }
    impl<'v, V: Into<u32> + Copy + 'v> Ready<(&'v V, &'v V)> for Task {
        fn ready(self, (a, b): (&'v V, &'v V)) {
            let sum = self.scale * ((*a).into() + (*b).into());
            self.done.fetch_add(sum as usize, Ordering::Relaxed);
        }

        fn ready_node<'a, I>(mut node: NodeBox<All<I, Self>>)
        where
            I: Inputs<'a, Values = (&'v V, &'v V)>,
        {
            unsafe fn run<'a, 'v, V: Into<u32> + Copy + 'v, I>(task: *mut Task)
            where
                I: Inputs<'a, Values = (&'v V, &'v V)>,
            {
                let waiter = std::ptr::NonNull::new(task).unwrap().cast();
                // SAFETY: from `into_raw` below, of this type; the task is the first field of the
                // waiter.
                let node = unsafe { NodeBox::<All<I, Task>>::from_raw(waiter) };
                let (values, task) = node.open();
                task.ready(values);
            }
            node.waiter.ready.run = run::<V, I>;
            let thin = node.into_raw().cast::<Task>().as_ptr();
            QUEUE.lock().unwrap().push(Thin(thin));
        }
    }
    unsafe fn never(_: *mut Task) {
        unreachable!("set when the task is ready");
    }
    let done = Arc::new(AtomicUsize::new(0));
    let cells = (Ddf::<u16>::new(), Ddf::<u16>::new());
    let task = Task {
        run: never,
        scale: 10,
        done: Arc::clone(&done),
    };
    // SAFETY: the cells are put below, and the queue is emptied.
    unsafe { when_all_scoped((&cells.0, &cells.1), task) };
    cells.0.put(1).unwrap();
    cells.1.put(2).unwrap();
    assert_eq!(done.load(Ordering::Relaxed), 0, "in the queue");
    let Thin(task) = QUEUE.lock().unwrap().pop().unwrap();
    // SAFETY: the task was pushed once.
    unsafe { ((*task).run)(task) };
    assert_eq!(done.load(Ordering::Relaxed), 30);
}

/// 10^6 cells with one waiter each use less than 100 bytes per cell besides the value.
#[test]
fn a_cell_costs_two_words_and_its_waiter_three_more_than_it_holds() {
    const WORD: usize = size_of::<usize>();
    assert_eq!(size_of::<Ddf<u64>>() - size_of::<u64>(), 2 * WORD);
    assert_eq!(size_of::<Ddf<[usize; 9]>>(), 11 * WORD);
    struct Body(#[expect(dead_code, reason = "only its size matters")] [usize; 2]);
    let holds = size_of::<Body>() + size_of::<[&Ddf<u64>; 2]>();
    assert_eq!(
        size_of::<Node<All<[&Ddf<u64>; 2], Body>>>(),
        3 * WORD + holds
    );
    let waiter = size_of::<Node<All<&Ddf<u64>, [usize; 2]>>>();
    assert!(2 * WORD + waiter < 100, "{waiter}");
}
