//! Collective operations of [`Plain`](super::Plain) links: computed once all ranks have started
//! them.

use std::collections::VecDeque;
use std::sync::Arc;
use tautline_core::comm::{Body, Collective, Complete, Element, Operator, Outcome};
use tautline_core::comm::{Done, Status};

/// An operation that a rank has started.
pub(super) struct Started {
    pub(super) collective: Collective,
    pub(super) own: Body,
    pub(super) into: Body,
    pub(super) done: Arc<dyn Complete>,
}

/// The operations of one number that a rank has started, in order.
pub(super) type Queue = VecDeque<Started>;

/// An operation that has ended.
pub(super) type End = (Arc<dyn Complete>, Outcome);

/// Carries out an operation, which all ranks have started. Returns its ends.
pub(super) fn carry_out(mut all: Vec<Started>) -> Vec<End> {
    let own: Vec<Vec<u8>> = all.iter().map(|one| one.own.to_vec()).collect();
    let ranks = all.len();
    let put = |one: &mut Started, bytes: &[u8]| one.into.bytes_mut().copy_from_slice(bytes);
    let part = |of: usize, at: usize| {
        let length = own[of].len() / ranks;
        &own[of][at * length..][..length]
    };
    let fold = |element, operator, last: usize| {
        let mut sum = own[0].clone();
        for next in &own[1..=last] {
            combine(element, operator, &mut sum, next);
        }
        sum
    };
    match all[0].collective {
        Collective::Barrier => {}
        Collective::Broadcast => {
            let vector = all[0].into.to_vec();
            all.iter_mut().for_each(|one| put(one, &vector));
        }
        Collective::Scatter => {
            for (at, one) in all.iter_mut().enumerate() {
                put(one, part(0, at));
            }
        }
        Collective::Gather => put(&mut all[0], &own.concat()),
        Collective::AllGather => all.iter_mut().for_each(|one| put(one, &own.concat())),
        Collective::AllToAll => {
            for (at, one) in all.iter_mut().enumerate() {
                let parts: Vec<_> = (0..ranks).map(|of| part(of, at)).collect();
                put(one, &parts.concat());
            }
        }
        Collective::Reduce(element, operator) => {
            put(&mut all[0], &fold(element, operator, ranks - 1));
        }
        Collective::AllReduce(element, operator) => {
            let sum = fold(element, operator, ranks - 1);
            all.iter_mut().for_each(|one| put(one, &sum));
        }
        Collective::Scan(element, operator) => {
            for (at, one) in all.iter_mut().enumerate() {
                put(one, &fold(element, operator, at));
            }
        }
    }
    let end = |one: Started| {
        let status = Status {
            bytes: one.into.len(),
            ..Status::default()
        };
        let body = one.into;
        (one.done, Ok(Done { status, body }))
    };
    all.into_iter().map(end).collect()
}

/// Combines two vectors, element by element, into the first one.
fn combine(element: Element, operator: Operator, sum: &mut [u8], next: &[u8]) {
    macro_rules! each {
        ($type:ty, $apply:expr) => {{
            let (sums, _) = sum.as_chunks_mut::<{ size_of::<$type>() }>();
            let (nexts, _) = next.as_chunks::<{ size_of::<$type>() }>();
            for (sum, next) in sums.iter_mut().zip(nexts) {
                let (a, b) = (<$type>::from_ne_bytes(*sum), <$type>::from_ne_bytes(*next));
                *sum = $apply(a, b).to_ne_bytes();
            }
        }};
    }
    macro_rules! integers {
        ($type:ty) => {
            each!($type, |a: $type, b: $type| match operator {
                Operator::Max => a.max(b),
                Operator::Min => a.min(b),
                Operator::Sum => a.wrapping_add(b),
                Operator::Product => a.wrapping_mul(b),
                Operator::And => (a != 0 && b != 0) as $type,
                Operator::Or => (a != 0 || b != 0) as $type,
                Operator::Xor => ((a != 0) != (b != 0)) as $type,
                Operator::BitAnd => a & b,
                Operator::BitOr => a | b,
                Operator::BitXor => a ^ b,
            })
        };
    }
    macro_rules! floats {
        ($type:ty) => {
            each!($type, |a: $type, b: $type| match operator {
                Operator::Max => a.max(b),
                Operator::Min => a.min(b),
                Operator::Sum => a + b,
                Operator::Product => a * b,
                other => panic!("{other:?} does not apply to {element:?}"),
            })
        };
    }
    match element {
        Element::I8 => integers!(i8),
        Element::I16 => integers!(i16),
        Element::I32 => integers!(i32),
        Element::I64 => integers!(i64),
        Element::U8 => integers!(u8),
        Element::U16 => integers!(u16),
        Element::U32 => integers!(u32),
        Element::U64 => integers!(u64),
        Element::F32 => floats!(f32),
        Element::F64 => floats!(f64),
    }
}
