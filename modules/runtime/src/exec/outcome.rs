//! What a process may end with.

use std::error::Error;
use std::fmt;

/// The reader of a channel has left: nobody will ever see another token on it.
///
/// This is the *request to stop*. A process that gets it and ends drops its own inputs, and so
/// passes the request on to those that write to it. It is a normal end, not a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader has left")
    }
}

impl Error for Stopped {}

/// What the function of a process may return: nothing, or a `Result<(), E>` with any error that
/// turns into a `Box<dyn Error>`. [`Stopped`] is a normal end; any other error ends the run.
pub trait Outcome {
    /// The error that ends the run, if any.
    fn outcome(self) -> Result<(), Box<dyn Error>>;
}

impl Outcome for () {
    fn outcome(self) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}

impl<E: Into<Box<dyn Error>>> Outcome for Result<(), E> {
    fn outcome(self) -> Result<(), Box<dyn Error>> {
        match self.map_err(Into::into) {
            Err(error) if !error.is::<Stopped>() => Err(error),
            _ => Ok(()),
        }
    }
}
