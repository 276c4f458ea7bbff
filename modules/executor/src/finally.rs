//! Code that also runs when the stack unwinds.

/// Calls a function when it is dropped: at the end of a scope, or when a panic unwinds the scope.
pub struct Finally<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        self.0();
    }
}
