//! Items that fit in one atomic word.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::num::NonZeroUsize;
use core::ptr;

/// An item that can live in one atomic word.
///
/// A thief copies a slot before it knows whether the item will be its own. With items wider than a
/// word that copy would be a data race; a word can be copied atomically and thrown away.
/// The word is a pointer, not a number, so that pointers keep their provenance.
///
/// # Safety
/// [`from_word`](Self::from_word) applied to the result of [`into_word`](Self::into_word), on any
/// thread, must give the item back; neither may touch the deque.
pub unsafe trait Word: Sized + Send {
    /// Gives the item up for a word that stands for it.
    fn into_word(self) -> *mut ();

    /// Takes the item back.
    ///
    /// # Safety
    /// `word` came from [`into_word`](Self::into_word) of this type and is taken back only once.
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

// SAFETY: usize has at least 32 bits wherever these atomics exist; the assertion makes sure.
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

// SAFETY: the pointer itself is the word; taking it back once keeps the box's only owner.
#[cfg(feature = "alloc")]
unsafe impl<T: Send> Word for Box<T> {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        Box::into_raw(self).cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the word came from into_raw, and the caller takes it back only once.
        unsafe { Box::from_raw(word.cast()) }
    }
}
