//! Code that also runs when the stack unwinds.

/// Calls the function when it is dropped: at the end of a scope, or when a panic unwinds it.
pub struct Finally<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        self.0();
    }
}
