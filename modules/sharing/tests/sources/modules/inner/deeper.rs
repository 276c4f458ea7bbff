#[path = "../main.rs"]
mod again;
static DEEPER: Cell<u8> = Cell::new(0); //~ G0801
