//! The memory of a message.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::{fmt, hash, ops};
#[cfg(feature = "wire")]
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The bytes of a message: an encoding, or a vector of plain data, which is moved through all
/// layers and copied by none that can avoid it.
///
/// ```
/// use tautline_core::comm::Body;
///
/// assert_eq!(Body::from(vec![1u8, 2]).len(), 2);
/// # #[cfg(feature = "wire")] {
/// let body = Body::of(vec![1.5f64; 3]);
/// assert_eq!(body.len(), 24);
/// assert!(body.clone().is_vector());
/// assert_eq!(body.into_vec::<f64>(), Some(vec![1.5; 3]));
/// # }
/// ```
pub struct Body(Memory);

enum Memory {
    Bytes(Vec<u8>),
    #[cfg_attr(
        not(feature = "wire"),
        expect(dead_code, reason = "plain data needs it")
    )]
    Vector(Box<dyn Vector>),
}

/// A vector of plain data whose type is forgotten.
trait Vector: Any + Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
    fn copied(&self) -> Box<dyn Vector>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

#[cfg(feature = "wire")]
impl<T> Vector for Vec<T>
where
    T: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static,
{
    fn bytes(&self) -> &[u8] {
        self.as_slice().as_bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.as_mut_slice().as_mut_bytes()
    }

    fn copied(&self) -> Box<dyn Vector> {
        Box::new(self.clone())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Body {
    /// Returns the memory of a vector, whose bytes are those of the machine.
    #[cfg(feature = "wire")]
    pub fn of<T>(vector: Vec<T>) -> Self
    where
        T: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static,
    {
        Self(Memory::Vector(Box::new(vector)))
    }

    /// Returns the vector of which the body was made; `None` if it was made of something else.
    pub fn into_vec<T: 'static>(self) -> Option<Vec<T>> {
        let any: Box<dyn Any> = match self.0 {
            Memory::Bytes(bytes) => Box::new(bytes),
            Memory::Vector(vector) => vector.into_any(),
        };
        any.downcast().ok().map(|vector| *vector)
    }

    /// Returns the bytes: copied, if the body was made of a vector of plain data.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.0 {
            Memory::Bytes(bytes) => bytes,
            Memory::Vector(vector) => vector.bytes().to_vec(),
        }
    }

    /// Whether the body was made of a vector of plain data: memory that its owner wants back.
    pub fn is_vector(&self) -> bool {
        matches!(self.0, Memory::Vector(_))
    }

    /// Returns the bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Bytes(bytes) => bytes,
            Memory::Vector(vector) => vector.bytes_mut(),
        }
    }
}

impl Default for Body {
    /// Returns an empty body.
    fn default() -> Self {
        Self(Memory::Bytes(Vec::new()))
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Memory::Bytes(bytes))
    }
}

impl ops::Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Bytes(bytes) => bytes,
            Memory::Vector(vector) => vector.bytes(),
        }
    }
}

impl Clone for Body {
    /// Copies the bytes; the copy of a vector is a vector of the same type.
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Memory::Bytes(bytes) => Memory::Bytes(bytes.clone()),
            Memory::Vector(vector) => Memory::Vector(vector.copied()),
        })
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<B: AsRef<[u8]> + ?Sized> PartialEq<B> for Body {
    fn eq(&self, other: &B) -> bool {
        **self == *other.as_ref()
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Eq for Body {}

/// As equality, by the bytes alone, whatever the body was made of.
impl hash::Hash for Body {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
