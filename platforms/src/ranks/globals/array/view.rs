//! Views of ranges of an array.

use crate::ranks::globals::Datum;
use crate::ranks::globals::access::View;
use crate::ranks::globals::operation::Block;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Index, Range};

/// The elements of a range of a [`GlobalArray`](super::GlobalArray): made by
/// [`view`](super::GlobalArray::view). They stay the same, and keep no task from changing the
/// array.
///
/// ```
/// use tautline::prelude::*;
/// use tautline::world::{Rank, World};
///
/// let world = World::alone();
/// let tens = world.globals().array(8, 3, |_| Rank(0), |index| 10 * index as u32);
/// Runtime::builder().world(&world).build()?.run(|cx| {
///     let some = tens.view(cx, 2..7)?;
///     // By the index in the array.
///     assert_eq!((some[4], some.get(7)), (40, None));
///     let slices: Vec<_> = some.slices().collect();
///     assert_eq!(slices, [&[20][..], &[30, 40, 50], &[60]]);
///     assert_eq!(*some.contiguous(), [20, 30, 40, 50, 60]);
///     Ok::<_, tautline::Error>(())
/// })?;
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// It stays at its thread; that of [`view_async`](super::GlobalArray::view_async), whose blocks are
/// of type `V`, may be sent.
pub struct ArrayView<T: Datum, V = View<Block<T>>> {
    range: Range<usize>,
    block_length: usize,
    blocks: Vec<V>,
    of: PhantomData<T>,
}

impl<T: Datum, V: Deref<Target = Block<T>>> ArrayView<T, V> {
    pub(super) fn new(range: Range<usize>, block_length: usize, blocks: Vec<V>) -> Self {
        Self {
            range,
            block_length,
            blocks,
            of: PhantomData,
        }
    }

    /// Returns the indices of the elements.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Returns whether the range is empty.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Returns an element by its index in the array, if the range has it.
    pub fn get(&self, index: usize) -> Option<&T> {
        if !self.range.contains(&index) {
            return None;
        }
        let first = self.range.start / self.block_length;
        let block = &self.blocks[index / self.block_length - first];
        Some(&block[index % self.block_length])
    }

    /// Returns the elements of each block in the range.
    pub fn slices(&self) -> impl Iterator<Item = &[T]> {
        let first = self.range.start / self.block_length;
        self.blocks.iter().zip(first..).map(|(block, number)| {
            let base = number * self.block_length;
            let end = self.range.end.min(base + block.len());
            &block[self.range.start.max(base) - base..end - base]
        })
    }

    /// Returns the elements as one slice: a borrowed one if one block has them all, else a copy.
    pub fn contiguous(&self) -> Cow<'_, [T]> {
        let mut slices = self.slices();
        match (slices.next(), self.blocks.len()) {
            (None, _) => Cow::Borrowed(&[]),
            (Some(slice), 1) => Cow::Borrowed(slice),
            _ => self.slices().collect::<Vec<_>>().concat().into(),
        }
    }

    /// Returns the elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slices().flatten()
    }
}

/// By the index in the array.
impl<T: Datum, V: Deref<Target = Block<T>>> Index<usize> for ArrayView<T, V> {
    type Output = T;

    /// # Panics
    /// If the range does not have the index.
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        let element = self.get(index);
        element.unwrap_or_else(|| panic!("index {index} of a view of {:?}", self.range))
    }
}

impl<T, V> fmt::Debug for ArrayView<T, V>
where
    T: Datum + fmt::Debug,
    V: Deref<Target = Block<T>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
