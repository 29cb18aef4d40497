//! The library's own collective operations, which do not block.

use super::{Comm, Result, byte, checked, length};
use mpi::ffi::{self, MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request, MPI_Status};
use std::ffi::{c_int, c_void};
use std::mem::{self, MaybeUninit};
use tautline_core::comm::{Body, Collective, Element, Matched, Operator};

/// A communicator that is being made.
#[derive(Debug)]
pub(crate) struct Duplicate {
    /// The memory that MPI writes; leaked if it is dropped before.
    handle: *mut MPI_Comm,
    request: MPI_Request,
    here: u32,
    ranks: u32,
}

/// Tests whether a request is complete.
fn is_complete(request: &mut MPI_Request) -> Result<bool> {
    let mut status = MaybeUninit::<MPI_Status>::uninit();
    let mut done: c_int = 0;
    // SAFETY: a request of MPI, and pointers to variables of this function.
    let code = unsafe { ffi::MPI_Test(request, &raw mut done, status.as_mut_ptr()) };
    checked("MPI_Test", code)?;
    Ok(done != 0)
}

impl Duplicate {
    /// Starts to make another communicator of the same ranks, all of which make the same call.
    pub(crate) fn of(comm: &Comm) -> Result<Self> {
        // SAFETY: a constant of the library.
        let handle = Box::into_raw(Box::new(unsafe { ffi::RSMPI_COMM_NULL }));
        let mut request = MaybeUninit::<MPI_Request>::uninit();
        // SAFETY: a live communicator; the handle stays where it is until the request is complete;
        // the request is read only if the call has succeeded.
        let request = unsafe {
            let code = ffi::MPI_Comm_idup(comm.handle, handle, request.as_mut_ptr());
            checked("MPI_Comm_idup", code)?;
            request.assume_init()
        };
        Ok(Self {
            handle,
            request,
            here: comm.here,
            ranks: comm.ranks,
        })
    }

    /// Returns the communicator, once it is made; not called again then.
    pub(crate) fn test(&mut self) -> Result<Option<Comm>> {
        if !is_complete(&mut self.request)? {
            return Ok(None);
        }
        // SAFETY: made by `of` from a box, complete, and not used again.
        let handle = *unsafe { Box::from_raw(self.handle) };
        Ok(Some(Comm {
            handle,
            here: self.here,
            ranks: self.ranks,
        }))
    }
}

/// A collective operation in flight, with the memory that MPI uses.
#[derive(Debug)]
pub(crate) struct Running {
    /// `None` once it is complete.
    request: Option<MPI_Request>,
    own: Body,
    into: Body,
}

impl Comm {
    /// Starts a collective operation from `own` into `into`, whose lengths are checked against each
    /// other.
    ///
    /// # Panics
    /// If the lengths do not fit the operation.
    pub(crate) fn collective(
        &self,
        _: Matched,
        collective: Collective,
        mut own: Body,
        mut into: Body,
    ) -> Result<Running> {
        let bytes = self.bytes(collective, own.len(), into.len());
        let each = length(bytes);
        let mut request = MaybeUninit::<MPI_Request>::uninit();
        let (from, to) = (own.bytes_mut().as_mut_ptr(), into.bytes_mut().as_mut_ptr());
        let (from, to): (*const c_void, *mut c_void) = (from.cast(), to.cast());
        let (comm, at, byte) = (self.handle, request.as_mut_ptr(), byte());
        let (kind, op, count) = numbers(collective, bytes);
        // SAFETY: a live communicator; `bytes` has checked that the memory is as long as the
        // operation needs with lengths that are the same at all ranks, as was promised for
        // `Matched`; it stays where it is until the request is complete, and is not used until
        // then; the request is read only if the call has succeeded.
        let request = unsafe {
            let (call, code) = match collective {
                Collective::Barrier => ("MPI_Ibarrier", ffi::MPI_Ibarrier(comm, at)),
                Collective::Broadcast => {
                    ("MPI_Ibcast", ffi::MPI_Ibcast(to, each, byte, 0, comm, at))
                }
                Collective::Scatter => (
                    "MPI_Iscatter",
                    ffi::MPI_Iscatter(from, each, byte, to, each, byte, 0, comm, at),
                ),
                Collective::Gather => (
                    "MPI_Igather",
                    ffi::MPI_Igather(from, each, byte, to, each, byte, 0, comm, at),
                ),
                Collective::AllGather => (
                    "MPI_Iallgather",
                    ffi::MPI_Iallgather(from, each, byte, to, each, byte, comm, at),
                ),
                Collective::AllToAll => (
                    "MPI_Ialltoall",
                    ffi::MPI_Ialltoall(from, each, byte, to, each, byte, comm, at),
                ),
                Collective::Reduce(..) => (
                    "MPI_Ireduce",
                    ffi::MPI_Ireduce(from, to, count, kind, op, 0, comm, at),
                ),
                Collective::AllReduce(..) => (
                    "MPI_Iallreduce",
                    ffi::MPI_Iallreduce(from, to, count, kind, op, comm, at),
                ),
                Collective::Scan(..) => (
                    "MPI_Iscan",
                    ffi::MPI_Iscan(from, to, count, kind, op, comm, at),
                ),
            };
            checked(call, code)?;
            request.assume_init()
        };
        let request = Some(request);
        Ok(Running { request, own, into })
    }

    /// Returns the bytes of a rank's part.
    fn bytes(&self, collective: Collective, own: usize, into: usize) -> usize {
        let (ranks, is_root) = (self.ranks as usize, self.here == 0);
        let (part, fits) = match collective {
            Collective::Barrier => (0, true),
            Collective::Broadcast => (into, true),
            Collective::Scatter => (into, !is_root || own == into * ranks),
            Collective::Gather => (own, !is_root || into == own * ranks),
            Collective::AllGather => (own, into == own * ranks),
            Collective::AllToAll => (own / ranks, own == into && own % ranks == 0),
            Collective::Reduce(element, _) => {
                (own, (!is_root || into == own) && own % element.bytes() == 0)
            }
            Collective::AllReduce(element, _) | Collective::Scan(element, _) => {
                (own, into == own && own % element.bytes() == 0)
            }
        };
        assert!(fits, "{collective:?} from {own} into {into} bytes");
        part
    }
}

impl Running {
    /// Returns the result, once it is complete.
    pub(crate) fn test(&mut self) -> Result<Option<Body>> {
        if let Some(request) = &mut self.request {
            if !is_complete(request)? {
                return Ok(None);
            }
            self.request = None;
        }
        Ok(Some(mem::take(&mut self.into)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.request.is_some() {
            // MPI may still access them.
            mem::forget((mem::take(&mut self.own), mem::take(&mut self.into)));
        }
    }
}

/// Returns how an operation combines numbers, and their number; anything if it combines none.
fn numbers(collective: Collective, bytes: usize) -> (MPI_Datatype, MPI_Op, c_int) {
    let (element, operator) = match collective {
        Collective::Reduce(element, operator)
        | Collective::AllReduce(element, operator)
        | Collective::Scan(element, operator) => (element, operator),
        _ => (Element::U8, Operator::Max),
    };
    let count = length(bytes / element.bytes());
    (kind(element), op(operator), count)
}

fn kind(element: Element) -> MPI_Datatype {
    // SAFETY: constants of the library.
    unsafe {
        match element {
            Element::I8 => ffi::RSMPI_INT8_T,
            Element::I16 => ffi::RSMPI_INT16_T,
            Element::I32 => ffi::RSMPI_INT32_T,
            Element::I64 => ffi::RSMPI_INT64_T,
            Element::U8 => ffi::RSMPI_UINT8_T,
            Element::U16 => ffi::RSMPI_UINT16_T,
            Element::U32 => ffi::RSMPI_UINT32_T,
            Element::U64 => ffi::RSMPI_UINT64_T,
            Element::F32 => ffi::RSMPI_FLOAT,
            Element::F64 => ffi::RSMPI_DOUBLE,
        }
    }
}

fn op(operator: Operator) -> MPI_Op {
    // SAFETY: constants of the library.
    unsafe {
        match operator {
            Operator::Max => ffi::RSMPI_MAX,
            Operator::Min => ffi::RSMPI_MIN,
            Operator::Sum => ffi::RSMPI_SUM,
            Operator::Product => ffi::RSMPI_PROD,
            Operator::And => ffi::RSMPI_LAND,
            Operator::Or => ffi::RSMPI_LOR,
            Operator::Xor => ffi::RSMPI_LXOR,
            Operator::BitAnd => ffi::RSMPI_BAND,
            Operator::BitOr => ffi::RSMPI_BOR,
            Operator::BitXor => ffi::RSMPI_BXOR,
        }
    }
}
