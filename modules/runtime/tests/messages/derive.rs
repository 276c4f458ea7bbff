use graphmap_runtime::Payload;

pub struct Opaque;

// An error for each field, at its type.
#[derive(Payload)]
pub struct Task<T> {
    pub number: u8,
    //~v a value of `Opaque` cannot be sent as bytes
    pub opaque: Opaque,
    //~v a value of `Opaque` cannot be sent as bytes
    pub list: Vec<(Opaque, T)>,
}

#[derive(Payload)]
pub enum Answer {
    No,
    //~v a value of `&'static str` cannot be sent as bytes
    Text(u8, &'static str),
    //~v a value of `Cell<u8>` cannot be sent as bytes
    Shared { cell: std::cell::Cell<u8> },
}

#[derive(Payload)]
//~v a token owns its data, so its type cannot have the lifetime `'a`: store `String` in place of
pub struct Borrowed<'a, T>(&'a [T]);

#[derive(Payload)]
//~v a union does not record which field holds the value, so it cannot be sent as bytes
pub union Either {
    pub whole: u32,
    pub real: f32,
}

#[derive(Payload)]
//~v `Never` has no variants, so no value of it can be sent: remove `Payload` from its derives
pub enum Never {}

pub fn needs_it<T: Payload>(_: T) {}

pub fn sends() {
    needs_it(Task { number: 1, opaque: Opaque, list: vec![(Opaque, 'a')] });
    //~v a value of `Opaque` cannot be sent as bytes
    needs_it(Opaque);
}
