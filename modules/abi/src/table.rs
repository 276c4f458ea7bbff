//! Objects of a rank behind handles.

/// Value of the first handle. Smaller values are constants of the standard.
const FIRST: usize = 0x1000;
/// Number of bits of a handle that are the index. The bits above are the generation of the entry,
/// so that the handle of a freed object is invalid. Handles fit a Fortran `INTEGER`.
const INDEX_BITS: u32 = 22;
const GENERATIONS: usize = 1 << (30 - INDEX_BITS);

/// A table of objects. Handles of freed objects are detected until their entry was used 256 times.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry<T> {
    generation: usize,
    object: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Table<T> {
    /// Adds an object and returns its handle, or `None` if all handles are in use.
    pub(crate) fn add(&mut self, object: T) -> Option<usize> {
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None => {
                if self.entries.len() == 1 << INDEX_BITS {
                    return None;
                }
                self.entries.push(Entry {
                    generation: 0,
                    object: None,
                });
                self.entries.len() - 1
            }
        };
        let entry = &mut self.entries[index];
        entry.object = Some(object);
        Some(FIRST + (entry.generation << INDEX_BITS | index))
    }

    fn index(&self, handle: usize) -> Option<usize> {
        let number = handle.checked_sub(FIRST)?;
        let index = number & ((1 << INDEX_BITS) - 1);
        let entry = self.entries.get(index)?;
        (entry.generation == number >> INDEX_BITS).then_some(index)
    }

    /// Returns the object of a handle, or `None` if the handle is invalid.
    #[inline]
    pub(crate) fn get(&self, handle: usize) -> Option<&T> {
        self.entries[self.index(handle)?].object.as_ref()
    }

    /// Returns the object of a handle, or `None` if the handle is invalid.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        let index = self.index(handle)?;
        self.entries[index].object.as_mut()
    }

    /// Removes and returns the object of a handle, or `None` if the handle is invalid.
    pub(crate) fn remove(&mut self, handle: usize) -> Option<T> {
        let index = self.index(handle)?;
        let entry = &mut self.entries[index];
        let object = entry.object.take()?;
        entry.generation = (entry.generation + 1) % GENERATIONS;
        self.free.push(index as u32);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_handle_is_invalid() {
        let mut table = Table::default();
        let first = table.add('a').unwrap();
        assert_eq!(table.remove(first), Some('a'));
        let second = table.add('b').unwrap();
        assert_ne!(first, second);
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!(table.get(second), Some(&'b'));
        assert_eq!(table.get(0x101), None);
    }

    #[test]
    fn handles_fit_an_integer() {
        let mut table = Table::default();
        let mut handle = 0;
        for _ in 0..3 * GENERATIONS {
            handle = table.add(()).unwrap();
            assert!(i32::try_from(handle).is_ok());
            table.remove(handle);
        }
        assert!(handle >= FIRST);
    }
}
