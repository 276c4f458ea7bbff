static INNER: Cell<u8> = Cell::new(0); //~ G0801
