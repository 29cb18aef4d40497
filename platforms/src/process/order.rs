//! Lists in order, by insertion. A sort would be compiled for each type and key; what is listed
//! here are the parts and the workers of one machine, and most come in order.
#![forbid(unsafe_code)]

/// Inserts an item before the first one whose key is not less.
pub(crate) fn insert<T, K: Ord>(list: &mut Vec<T>, item: T, key: impl Fn(&T) -> K) {
    let at = list.partition_point(|known| key(known) < key(&item));
    list.insert(at, item);
}

/// Returns the numbers in order, each once.
pub(crate) fn distinct(numbers: &[usize]) -> Vec<usize> {
    let mut distinct = Vec::with_capacity(numbers.len());
    for number in numbers {
        if let Err(at) = distinct.binary_search(number) {
            distinct.insert(at, *number);
        }
    }
    distinct
}
