static NOBODY: Cell<u8> = Cell::new(0);
