//! The cost of encoding and decoding loot, and of sending it to another rank of this process.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use tautline_core::PlaceId;
use tautline_core::port::Spin;
use tautline_core::wire::{Bulk, Exchange, Portable, pack, unpack};
use tautline_node::Loopback;

/// An interval of the children of a node of an unbalanced tree: the state of its random numbers,
/// and which children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Interval {
    state: [u32; 5],
    depth: u32,
    next: u32,
    end: u32,
}

/// The same words as plain data.
type Words = [u32; 8];

fn words(i: u32) -> Words {
    let mixed = |k: u32| (i * 8 + k).wrapping_mul(0x9e37_79b9);
    [
        mixed(0),
        mixed(1),
        mixed(2),
        mixed(3),
        mixed(4),
        i % 30,
        i % 7,
        7,
    ]
}

fn interval(i: u32) -> Interval {
    let [a, b, c, d, e, depth, next, end] = words(i);
    Interval {
        state: [a, b, c, d, e],
        depth,
        next,
        end,
    }
}

fn pass<T: Portable>(value: &T, bytes: &mut Vec<u8>) -> T {
    bytes.clear();
    pack(black_box(value), bytes).expect("plain structures");
    unpack(black_box(bytes)).expect("packed above")
}

fn codec(c: &mut Criterion) {
    let mut group = c.benchmark_group("wire/codec");
    let mut bytes = Vec::new();
    for count in [1, 8, 64] {
        group.throughput(Throughput::Elements(count));
        let loot: Vec<_> = (0..count as u32).map(interval).collect();
        group.bench_function(BenchmarkId::new("serde", count), |b| {
            b.iter(|| pass(&loot, &mut bytes))
        });
        let loot = Bulk((0..count as u32).map(words).collect());
        group.bench_function(BenchmarkId::new("bulk", count), |b| {
            b.iter(|| pass(&loot, &mut bytes))
        });
    }
    group.finish();
}

/// One message from a rank to another, both on this thread.
fn exchange(c: &mut Criterion) {
    let mut group = c.benchmark_group("wire/exchange");
    let all = Loopback::all::<2>().map(|link| Exchange::new(link, Spin));
    let ends = all.each_ref().map(|exchange| {
        exchange.open::<Bulk<Words>>("loot", 1, |_, _, body: &[u8]| {
            black_box(unpack::<Bulk<Words>>(body)?);
            Ok(())
        })
    });
    for exchange in &all {
        while exchange.turn().expect("both live") {}
    }
    group.bench_function("turn", |b| b.iter(|| all[0].turn().expect("both live")));
    for count in [1, 8, 64] {
        let loot: Vec<_> = (0..count).map(words).collect();
        group.throughput(Throughput::Bytes(u64::from(count) * 32));
        group.bench_function(BenchmarkId::new("message", count), |b| {
            b.iter(|| {
                ends[0].send(PlaceId(0), PlaceId(1), Bulk(loot.clone()));
                all[0].turn().expect("both live");
                all[1].turn().expect("both live")
            });
        });
    }
    assert_eq!(ends[0].traffic().sent, ends[1].traffic().received);
    group.finish();
}

criterion_group!(benches, codec, exchange);
criterion_main!(benches);
