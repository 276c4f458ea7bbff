//! Info objects (MPI-5.0, chapter 10).

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};

use crate::abi::Info;
use crate::arguments::{get, put, write_text};
use crate::error::{Class, Done, Fail, fail};
use crate::rank::{Part, Rank, Slot, invalid};
use crate::table::Table;

/// Sizes of the buffers of keys and values, with the ends of the strings.
const MAX_KEY: usize = 256;
const MAX_VALUE: usize = 1024;

/// Keys and values, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pairs(Vec<(Vec<u8>, Vec<u8>)>);

impl Pairs {
    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let found = self.0.iter().find(|(other, _)| other == key);
        found.map(|(_, value)| value.as_slice())
    }

    /// Sets the value of a key.
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) {
        match self.0.iter_mut().find(|(other, _)| other == key) {
            Some((_, before)) => *before = value.to_vec(),
            None => self.0.push((key.to_vec(), value.to_vec())),
        }
    }

    /// Sets the values of keys for which `is_known` returns true.
    pub(crate) fn update(&mut self, from: &Pairs, is_known: impl Fn(&[u8], &[u8]) -> bool) {
        for (key, value) in &from.0 {
            if is_known(key, value) {
                self.set(key, value);
            }
        }
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        let found = self.0.iter().position(|(other, _)| other == key);
        found.map(|index| self.0.remove(index)).is_some()
    }
}

/// All info objects of a rank.
#[derive(Default)]
pub(crate) struct Infos {
    table: RefCell<Table<Pairs>>,
}

impl Part for Infos {
    const SLOT: Slot = Slot::Infos;
}

impl Infos {
    /// Adds an info object, and returns its handle.
    pub(crate) fn add(&self, pairs: Pairs) -> Done<Info> {
        let handle = self.table.borrow_mut().add(pairs);
        let none = || Fail::new(Class::NoMem, "too many info objects");
        Ok(Info(handle.ok_or_else(none)?))
    }

    /// Calls `f` with the pairs of an info object.
    ///
    /// # Errors
    /// [`Class::Arg`] if the handle is null, and [`Class::Info`] if it is invalid.
    pub(crate) fn read<T>(&self, handle: Info, f: impl FnOnce(&Pairs) -> T) -> Done<T> {
        if handle == Info::ENV {
            return Ok(f(&environment()));
        }
        match self.table.borrow().get(handle.0) {
            Some(pairs) => Ok(f(pairs)),
            None => wrong(handle),
        }
    }

    fn change<T>(&self, handle: Info, f: impl FnOnce(&mut Pairs) -> T) -> Done<T> {
        if handle == Info::ENV {
            return fail!(Info, "MPI_INFO_ENV cannot be changed");
        }
        match self.table.borrow_mut().get_mut(handle.0) {
            Some(pairs) => Ok(f(pairs)),
            None => wrong(handle),
        }
    }

    /// Returns the pairs of an argument. `MPI_INFO_NULL` has none.
    ///
    /// # Errors
    /// [`Class::Info`] if the handle is invalid.
    pub(crate) fn argument(&self, handle: Info) -> Done<Pairs> {
        match handle {
            Info::NULL => Ok(Pairs::default()),
            handle => self.read(handle, Pairs::clone),
        }
    }
}

fn wrong<T>(handle: Info) -> Done<T> {
    let class = match handle {
        Info::NULL => Class::Arg,
        _ => Class::Info,
    };
    invalid(class, "info object", handle.0)
}

/// Returns the pairs of `MPI_INFO_ENV` that are the same for all ranks of the program.
fn environment() -> Pairs {
    let mut pairs = Pairs::default();
    if let Ok(folder) = std::env::current_dir() {
        pairs.set(b"wdir", folder.as_os_str().as_encoded_bytes());
    }
    pairs.set(b"arch", std::env::consts::ARCH.as_bytes());
    pairs.set(b"host", &crate::arguments::host());
    pairs.set(b"thread_level", b"MPI_THREAD_FUNNELED");
    pairs
}

/// Returns the string of an argument, if it is shorter than `limit`.
///
/// # Safety
/// `text` must be null or a string.
unsafe fn text<'a>(text: *const c_char, limit: usize) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the pointer is a string, as the caller guarantees.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    (text.len() < limit).then_some(text)
}

/// Returns the key of an argument.
///
/// # Safety
/// `key` must be null or a string.
unsafe fn key<'a>(key: *const c_char) -> Done<&'a [u8]> {
    // SAFETY: guaranteed by the caller.
    match unsafe { text(key, MAX_KEY) } {
        Some([]) | None => fail!(
            InfoKey,
            "the key is null, empty, or has {MAX_KEY} bytes or more"
        ),
        Some(key) => Ok(key),
    }
}

/// Returns a copy of the value of a key.
///
/// # Safety
/// `name` must be null or a string.
unsafe fn find(this: &Rank, info: Info, name: *const c_char) -> Done<Option<Vec<u8>>> {
    // The handle is checked first.
    Infos::of(this).read(info, |_| ())?;
    // SAFETY: guaranteed by the caller.
    let name = unsafe { key(name) }?;
    Infos::of(this).read(info, |pairs| pairs.get(name).map(<[u8]>::to_vec))
}

export! {
    fn MPI_Info_create(info: *mut Info) on Always => |this| {
        put(info, Infos::of(this).add(Pairs::default())?)
    };
    fn MPI_Info_create_env(
        count: c_int, arguments: *const *const c_char, info: *mut Info,
    ) on Always => |this| {
        let mut pairs = environment();
        let arguments: &[*const c_char] = match usize::try_from(count) {
            Ok(count) if count > 0 && !arguments.is_null() => {
                std::slice::from_raw_parts(arguments, count)
            }
            _ => &[],
        };
        let mut texts = arguments.iter().filter_map(|&argument| text(argument, MAX_VALUE));
        if let Some(command) = texts.next() {
            pairs.set(b"command", command);
        }
        let rest: Vec<&[u8]> = texts.collect();
        if !rest.is_empty() {
            pairs.set(b"argv", &rest.join(&b' '));
        }
        put(info, Infos::of(this).add(pairs)?)
    };
    fn MPI_Info_dup(info: Info, new: *mut Info) on Always => |this| {
        let pairs = Infos::of(this).read(info, Pairs::clone)?;
        put(new, Infos::of(this).add(pairs)?)
    };
    fn MPI_Info_free(info: *mut Info) on Always => |this| {
        let handle = get(info)?;
        if Infos::of(this).table.borrow_mut().remove(handle.0).is_none() {
            return wrong(handle);
        }
        put(info, Info::NULL)
    };
    fn MPI_Info_set(info: Info, name: *const c_char, value: *const c_char) on Always => |this| {
        Infos::of(this).read(info, |_| ())?;
        let name = key(name)?;
        if value.is_null() {
            return fail!(Arg, "the value is null");
        }
        let Some(value) = text(value, MAX_VALUE) else {
            return fail!(InfoValue, "the value has {MAX_VALUE} bytes or more");
        };
        Infos::of(this).change(info, |pairs| pairs.set(name, value))
    };
    fn MPI_Info_delete(info: Info, name: *const c_char) on Always => |this| {
        Infos::of(this).read(info, |_| ())?;
        let name = key(name)?;
        match Infos::of(this).change(info, |pairs| pairs.remove(name))? {
            true => Ok(()),
            false => fail!(InfoNokey, "no key {}", String::from_utf8_lossy(name)),
        }
    };
    fn MPI_Info_get(
        info: Info, name: *const c_char, length: c_int, value: *mut c_char, flag: *mut c_int,
    ) on Always => |this| {
        let found = find(this, info, name)?;
        let Ok(length) = usize::try_from(length) else {
            return fail!(Arg, "the length {length} is negative");
        };
        if value.is_null() {
            return fail!(Arg, "the buffer for the value is null");
        }
        put(flag, found.is_some().into())?;
        if let Some(found) = found {
            write_text(&found, length + 1, value, std::ptr::null_mut());
        }
        Ok(())
    };
    fn MPI_Info_get_string(
        info: Info, name: *const c_char, size: *mut c_int, value: *mut c_char, flag: *mut c_int,
    ) on Always => |this| {
        let found = find(this, info, name)?;
        let room = get(size)?;
        let Ok(room) = usize::try_from(room) else {
            return fail!(Arg, "the length {room} is negative");
        };
        put(flag, found.is_some().into())?;
        if let Some(found) = found {
            if room > 0 {
                write_text(&found, room, value, std::ptr::null_mut());
            }
            put(size, found.len() as c_int + 1)?;
        }
        Ok(())
    };
    fn MPI_Info_get_valuelen(
        info: Info, name: *const c_char, length: *mut c_int, flag: *mut c_int,
    ) on Always => |this| {
        let found = find(this, info, name)?;
        put(flag, found.is_some().into())?;
        if let Some(found) = found {
            put(length, found.len() as c_int)?;
        }
        Ok(())
    };
    fn MPI_Info_get_nkeys(info: Info, count: *mut c_int) on Always => |this| {
        put(count, Infos::of(this).read(info, |pairs| pairs.0.len())? as c_int)
    };
    fn MPI_Info_get_nthkey(info: Info, index: c_int, name: *mut c_char) on Always => |this| {
        let found = Infos::of(this).read(info, |pairs| {
            let (key, _) = pairs.0.get(usize::try_from(index).ok()?)?;
            Some(key.clone())
        })?;
        match found {
            Some(found) => {
                write_text(&found, MAX_KEY, name, std::ptr::null_mut());
                Ok(())
            }
            None => fail!(Arg, "the info object has no key {index}"),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_the_order_of_keys() {
        let mut pairs = Pairs::default();
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
            pairs.set(key.as_bytes(), value.as_bytes());
        }
        assert_eq!(pairs.get(b"b"), Some(&b"3"[..]));
        assert_eq!(pairs.0[1].0, b"a");
        assert!(pairs.remove(b"b"));
        assert!(!pairs.remove(b"b"));
        assert_eq!(pairs.get(b"b"), None);
    }

    #[test]
    fn a_freed_info_object_is_an_error() {
        let infos = Infos::default();
        let handle = infos.add(Pairs::default()).unwrap();
        assert!(infos.argument(handle).is_ok());
        infos.table.borrow_mut().remove(handle.0).unwrap();
        assert_eq!(
            infos.argument(handle).unwrap_err().code,
            Class::Info as c_int
        );
        assert!(infos.argument(Info::NULL).is_ok());
        assert!(infos.read(Info::NULL, |_| ()).is_err());
    }
}
