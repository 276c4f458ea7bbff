//! Conversion of elements to and from `external32`.

use super::Type;
use super::external::values;
use crate::error::Done;

impl Type {
    /// Converts packed elements to the representation.
    ///
    /// # Errors
    /// [`Class::Conversion`](crate::error::Class::Conversion) if a value does not fit.
    pub(crate) fn packed_to_external(&self, count: usize, data: &[u8]) -> Done<Vec<u8>> {
        let mut external = Vec::with_capacity(count * self.external);
        let mut rest = data;
        self.signature(count, &mut |named, count| {
            let (first, second) = values(named);
            for _ in 0..count {
                for value in [Some(first), second].into_iter().flatten() {
                    let (bytes, behind) = rest.split_at(value.native);
                    value.encode(bytes, &mut external)?;
                    rest = behind;
                }
            }
            Ok(())
        })?;
        Ok(external)
    }

    /// Converts elements in the representation to packed elements.
    pub(crate) fn external_to_packed(&self, count: usize, external: &[u8]) -> Done<Vec<u8>> {
        let mut data = Vec::with_capacity(count * self.size);
        let mut rest = external;
        self.signature(count, &mut |named, count| {
            let (first, second) = values(named);
            for _ in 0..count {
                for value in [Some(first), second].into_iter().flatten() {
                    let (bytes, behind) = rest.split_at(value.external);
                    value.decode(bytes, &mut data);
                    rest = behind;
                }
            }
            Ok(())
        })?;
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::super::predefined;
    use crate::abi::Datatype;

    fn round(handle: usize, data: &[u8], external: &[u8]) {
        let of = predefined(Datatype(handle)).unwrap();
        let count = data.len() / of.size;
        assert_eq!(of.packed_to_external(count, data).unwrap(), external);
        assert_eq!(of.external_to_packed(count, external).unwrap(), data);
    }

    #[test]
    fn integers_are_big_endian() {
        round(0x209, &[1, 2, 3, 4, 5, 6, 7, 8], &[4, 3, 2, 1, 8, 7, 6, 5]);
        round(0x20a, &(-2i64).to_ne_bytes(), &[255, 255, 255, 254]);
        round(0x22c, &[1, 2, 3, 4, 5, 6], &[2, 1, 6, 5, 4, 3]);
        let long = predefined(Datatype(0x20a)).unwrap();
        assert!(
            long.packed_to_external(1, &(1i64 << 31).to_ne_bytes())
                .is_err()
        );
    }
}
