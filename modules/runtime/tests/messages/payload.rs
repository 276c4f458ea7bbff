use graphmap_runtime::payload;

pub struct Opaque;

pub struct Task {
    pub opaque: Opaque,
    pub other: u8,
}
//~v a value of `Opaque` cannot be sent as bytes
payload!(Task { opaque, other });

pub struct Forgotten {
    pub number: u8,
    pub other: u8,
}
//~v pattern requires `..` due to inaccessible fields
//~v missing field `other` in initializer of `Forgotten`
payload!(Forgotten { number });
