//! Predefined datatypes.

use std::rc::Rc;

use super::Type;
use crate::abi::Datatype;

thread_local! {
    static NAMED: Vec<Option<Rc<Type>>> = (0..0x100).map(|at| size(at).map(|size| Rc::new(Type::contiguous(size)))).collect();
}

/// Returns the predefined datatype of a handle, or `None` if it is not one.
#[inline]
pub(super) fn get(handle: Datatype) -> Option<Rc<Type>> {
    let at = handle.0.checked_sub(Datatype::NULL.0)?;
    NAMED.with(|named| named.get(at).cloned().flatten())
}

/// Returns the size of a predefined datatype.
fn size(at: usize) -> Option<usize> {
    Some(match at + Datatype::NULL.0 {
        0x207 | 0x240 | 0x241 | 0x243..=0x247 => 1,
        0x209 | 0x20d | 0x210 => 4,
        0x201..=0x203 | 0x20a | 0x20b | 0x20e | 0x20f | 0x214 => 8,
        _ => return None,
    })
}
