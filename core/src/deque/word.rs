//! Items that fit in one atomic word.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::num::NonZeroUsize;
use core::ptr;

/// An item that fits in one atomic word.
///
/// A thief copies a slot before it knows whether it gets the item. With items wider than a word
/// that copy would be a data race; a word can be copied atomically and discarded. The word is a
/// pointer, not a number, so that pointers keep their provenance.
///
/// # Safety
/// The implementor must ensure that [`from_word`](Self::from_word), applied to the result of
/// [`into_word`](Self::into_word) on any thread, returns the item, and that neither accesses the
/// deque.
pub unsafe trait Word: Sized + Send {
    /// Converts the item into a word that represents it.
    fn into_word(self) -> *mut ();

    /// Converts a word back into the item.
    ///
    /// # Safety
    /// The caller must have `word` from [`into_word`](Self::into_word) of this type, and convert it
    /// once.
    unsafe fn from_word(word: *mut ()) -> Self;
}

// SAFETY: the number is the address of the word, without loss.
unsafe impl Word for usize {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        ptr::without_provenance_mut(self)
    }

    #[inline(always)]
    unsafe fn from_word(word: *mut ()) -> Self {
        word.addr()
    }
}

// SAFETY: as for usize, and the word is not zero.
unsafe impl Word for NonZeroUsize {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        ptr::without_provenance_mut(self.get())
    }

    #[inline(always)]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the word was made from a number that is not zero.
        unsafe { Self::new_unchecked(word.addr()) }
    }
}

// SAFETY: usize has at least 32 bits on all targets with these atomics, which the assertion checks.
unsafe impl Word for u32 {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        const { assert!(size_of::<usize>() >= size_of::<u32>()) };
        ptr::without_provenance_mut(self as usize)
    }

    #[inline(always)]
    unsafe fn from_word(word: *mut ()) -> Self {
        word.addr() as Self
    }
}

// SAFETY: the pointer itself is the word.
unsafe impl<T: Sync> Word for &T {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        ptr::from_ref(self).cast_mut().cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the word was made from a reference of this very type and lifetime.
        unsafe { &*word.cast() }
    }
}

// SAFETY: the pointer itself is the word; it is converted once, so the box has one owner.
#[cfg(feature = "alloc")]
unsafe impl<T: Send> Word for Box<T> {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        Box::into_raw(self).cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the word comes from into_raw, and the caller converts it once.
        unsafe { Box::from_raw(word.cast()) }
    }
}
