//! The functions of MPI that are used, each with its error.
//!
//! All of them may be called by one thread at a time alone, which [`Session`](crate::Session)
//! ensures.

mod native;

pub(crate) use native::{Duplicate, Running};

use crate::error::Failed;
use mpi::ffi::{self, MPI_Comm, MPI_Request, MPI_Status};
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use tautline_core::comm::Body;

/// Room for the text of an error: more than any library needs (MPI_MAX_ERROR_STRING is at most 512
/// in all known ones).
const TEXT_BYTES: usize = 1024;

type Result<T> = std::result::Result<T, Failed>;

/// Turns the value that `call` returned into a result.
fn checked(call: &'static str, code: c_int) -> Result<()> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0u8; TEXT_BYTES];
    let mut length: c_int = 0;
    let start = text.as_mut_ptr().cast::<c_char>();
    // SAFETY: the text is long enough, and both pointers are to variables of this function.
    let known = unsafe { ffi::MPI_Error_string(code, start, &raw mut length) };
    let length = usize::try_from(length).unwrap_or(0).min(TEXT_BYTES);
    let text = match known == ffi::MPI_SUCCESS as c_int {
        true => String::from_utf8_lossy(&text[..length]).trim().to_owned(),
        false => format!("error {code}"),
    };
    Err(Failed { call, text })
}

/// A communicator of this library alone. Its errors are returned. It is freed by
/// [`free`](Self::free), which all its ranks call.
#[derive(Debug)]
pub(crate) struct Comm {
    handle: MPI_Comm,
    pub(crate) here: u32,
    pub(crate) ranks: u32,
}

impl Comm {
    /// The number of ranks of the program.
    pub(crate) fn world_ranks() -> Result<u32> {
        let mut ranks: c_int = 0;
        // SAFETY: MPI has started, and the pointer is to a variable of this function.
        checked("MPI_Comm_size", unsafe {
            ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &raw mut ranks)
        })?;
        Ok(ranks as u32)
    }

    /// Creates the communicator of the first `ranks` ranks of the program, all of which make the
    /// same call.
    pub(crate) fn of_first(ranks: u32) -> Result<Self> {
        let all = Self::world_ranks()?;
        let mut handle = MaybeUninit::<MPI_Comm>::uninit();
        // SAFETY: MPI has started; the pointers are to variables that live until each call returns,
        // and each handle is read only after the call that writes it has succeeded.
        let handle = unsafe {
            if ranks == all {
                let code = ffi::MPI_Comm_dup(ffi::RSMPI_COMM_WORLD, handle.as_mut_ptr());
                checked("MPI_Comm_dup", code)?;
            } else {
                let mut group = MaybeUninit::uninit();
                let code = ffi::MPI_Comm_group(ffi::RSMPI_COMM_WORLD, group.as_mut_ptr());
                checked("MPI_Comm_group", code)?;
                let mut group = group.assume_init();
                let mut range = [[0, ranks as c_int - 1, 1]];
                let mut first = MaybeUninit::uninit();
                let code =
                    ffi::MPI_Group_range_incl(group, 1, range.as_mut_ptr(), first.as_mut_ptr());
                checked("MPI_Group_range_incl", code)?;
                let mut first = first.assume_init();
                let code = ffi::MPI_Comm_create_group(
                    ffi::RSMPI_COMM_WORLD,
                    first,
                    0,
                    handle.as_mut_ptr(),
                );
                checked("MPI_Comm_create_group", code)?;
                checked("MPI_Group_free", ffi::MPI_Group_free(&raw mut first))?;
                checked("MPI_Group_free", ffi::MPI_Group_free(&raw mut group))?;
            }
            handle.assume_init()
        };
        let (mut here, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: a live communicator, and pointers to variables of this function.
        unsafe {
            let code = ffi::MPI_Comm_set_errhandler(handle, ffi::RSMPI_ERRORS_RETURN);
            checked("MPI_Comm_set_errhandler", code)?;
            let code = ffi::MPI_Comm_rank(handle, &raw mut here);
            checked("MPI_Comm_rank", code)?;
            let code = ffi::MPI_Comm_size(handle, &raw mut size);
            checked("MPI_Comm_size", code)?;
        }
        Ok(Self {
            handle,
            here: here as u32,
            ranks: size as u32,
        })
    }

    /// Starts to send `bytes`; `until_received` delays the end until their receiver takes them.
    pub(crate) fn send(
        &self,
        to: u32,
        tag: c_int,
        bytes: Body,
        until_received: bool,
    ) -> Result<Transfer> {
        let count = length(bytes.len());
        let mut request = MaybeUninit::<MPI_Request>::uninit();
        let (start, kind) = (bytes.as_ptr().cast(), byte());
        // SAFETY: the communicator lives; the bytes stay where they are and are not written until
        // the transfer, which owns them, is complete; the request is read only if the call has
        // succeeded.
        let request = unsafe {
            let at = request.as_mut_ptr();
            let (call, code) = match until_received {
                true => (
                    "MPI_Issend",
                    ffi::MPI_Issend(start, count, kind, to as c_int, tag, self.handle, at),
                ),
                false => (
                    "MPI_Isend",
                    ffi::MPI_Isend(start, count, kind, to as c_int, tag, self.handle, at),
                ),
            };
            checked(call, code)?;
            request.assume_init()
        };
        Ok(Transfer {
            request: Some(request),
            bytes,
        })
    }

    /// Starts to receive into `bytes`, at most `most` of them, from any rank if `from` is `None`.
    pub(crate) fn receive(
        &self,
        from: Option<u32>,
        tag: c_int,
        mut bytes: Body,
        most: usize,
    ) -> Result<Transfer> {
        assert!(most <= bytes.len(), "MPI would write beyond the memory");
        let count = length(most);
        let mut request = MaybeUninit::<MPI_Request>::uninit();
        // SAFETY: as in send; until the transfer is complete nothing reads or writes the bytes.
        let request = unsafe {
            let from = from.map_or(ffi::RSMPI_ANY_SOURCE, |from| from as c_int);
            let (start, at) = (bytes.bytes_mut().as_mut_ptr().cast(), request.as_mut_ptr());
            let code = ffi::MPI_Irecv(start, count, byte(), from, tag, self.handle, at);
            checked("MPI_Irecv", code)?;
            request.assume_init()
        };
        Ok(Transfer {
            request: Some(request),
            bytes,
        })
    }

    /// Frees the communicator; all its ranks do.
    pub(crate) fn free(mut self) -> Result<()> {
        // SAFETY: a live communicator, which is not used afterwards.
        checked("MPI_Comm_free", unsafe {
            ffi::MPI_Comm_free(&raw mut self.handle)
        })
    }
}

fn length(bytes: usize) -> c_int {
    c_int::try_from(bytes).expect("parcels have at most 1 GiB")
}

fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// A message in flight, with the bytes that MPI reads or writes.
#[derive(Debug)]
pub(crate) struct Transfer {
    /// `None` once it is complete.
    request: Option<MPI_Request>,
    bytes: Body,
}

/// The received message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) from: u32,
    pub(crate) bytes: usize,
}

impl Transfer {
    /// Tests whether it is complete; if so, returns the received message, which is meaningless for
    /// a send.
    pub(crate) fn test(&mut self) -> Result<Option<Received>> {
        let Some(request) = &mut self.request else {
            return Ok(None);
        };
        let mut status = MaybeUninit::<MPI_Status>::uninit();
        let mut done: c_int = 0;
        // SAFETY: a request of MPI, and pointers to variables of this function.
        let code = unsafe { ffi::MPI_Test(request, &raw mut done, status.as_mut_ptr()) };
        checked("MPI_Test", code)?;
        if done == 0 {
            return Ok(None);
        }
        self.request = None;
        // SAFETY: written, as the request is complete.
        let status = unsafe { status.assume_init() };
        let mut bytes: c_int = 0;
        // SAFETY: pointers to variables of this function.
        let code = unsafe { ffi::MPI_Get_count(&raw const status, byte(), &raw mut bytes) };
        checked("MPI_Get_count", code)?;
        Ok(Some(Received {
            // Both are negative for what was sent, in some libraries.
            from: u32::try_from(status.MPI_SOURCE).unwrap_or(0),
            bytes: usize::try_from(bytes).unwrap_or(0),
        }))
    }

    /// Returns the bytes of a complete transfer.
    pub(crate) fn bytes(&self) -> &[u8] {
        debug_assert!(self.request.is_none(), "MPI may write them");
        &self.bytes
    }

    /// Returns the memory of a complete transfer.
    pub(crate) fn into_body(mut self) -> Body {
        debug_assert!(self.request.is_none(), "MPI may access them");
        std::mem::take(&mut self.bytes)
    }

    /// Withdraws a receive that nothing has matched.
    pub(crate) fn cancel(mut self) -> Result<()> {
        let Some(request) = &mut self.request else {
            return Ok(());
        };
        let mut status = MaybeUninit::<MPI_Status>::uninit();
        // SAFETY: a request of MPI, and pointers to variables of this function.
        unsafe {
            checked("MPI_Cancel", ffi::MPI_Cancel(request))?;
            checked("MPI_Wait", ffi::MPI_Wait(request, status.as_mut_ptr()))?;
        }
        self.request = None;
        Ok(())
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if self.request.is_some() {
            // MPI may still access them.
            std::mem::forget(std::mem::take(&mut self.bytes));
        }
    }
}
