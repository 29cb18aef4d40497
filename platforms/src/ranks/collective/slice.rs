//! Vectors of numbers that are combined element by element.

use serde::{Deserialize, Serialize};
use tautline_core::comm::{Number, Operator};
use tautline_core::wire::Bulk;

/// The numbers of one rank, or the combination of those of several. All ranks have equally many:
/// the call compares it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Elements<T: Number>(Bulk<T>);

impl<T: Number> Elements<T> {
    pub(super) fn of(numbers: &[T]) -> Self {
        Self(Bulk(numbers.to_vec()))
    }

    pub(crate) fn numbers(&self) -> &[T] {
        &self.0.0
    }

    fn combined(mut self, other: Self, operator: Operator) -> Self {
        let pairs = self.0.0.iter_mut().zip(other.0.0);
        pairs.for_each(|(own, other)| *own = own.combined(other, operator));
        self
    }
}

/// Returns the combination of vectors, element by element.
///
/// # Panics
/// If `operator` does not apply to such numbers.
pub(crate) fn elementwise<T: Number>(
    operator: Operator,
) -> impl FnMut(Elements<T>, Elements<T>) -> Elements<T> + Send {
    let is_defined = operator.applies_to(T::ELEMENT);
    assert!(is_defined, "{operator:?} of {:?}", T::ELEMENT);
    move |a, b| a.combined(b, operator)
}
