//! Return types of process functions.

use std::error::Error;
use std::fmt;

/// Error: the reader of a channel has left, so no further token on it can be read.
///
/// This is the *request to stop*. A process that ends because of it drops its own inputs, and so
/// passes the request on to its writers. Ending in this way is normal and not a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader has left")
    }
}

impl Error for Stopped {}

/// Types that the function of a process may return.
///
/// They are `()`, `Result<(), E>` with an error that converts into `Box<dyn Error>`, and results
/// with a boxed error that is `Send`. The error [`Stopped`] is a normal end. Any other error ends
/// the run.
///
/// `How` names the conversion. The compiler infers it, because only one conversion fits each type.
/// The parameter is needed because the standard library does not convert `Box<dyn Error + Send +
/// Sync>` to `Box<dyn Error>`. Without it the implementations would overlap.
pub trait Outcome<How = Converted> {
    /// Converts the returned value into the result of the process.
    ///
    /// # Errors
    /// Returns the error that ends the run. [`Stopped`] is not such an error.
    fn outcome(self) -> Result<(), Box<dyn Error>>;
}

/// Conversion of [`Outcome`] by `Into<Box<dyn Error>>`.
pub struct Converted;

/// Conversion of [`Outcome`] from `Box<dyn Error + Send + Sync>`.
pub struct Shared;

/// Conversion of [`Outcome`] from `Box<dyn Error + Send>`.
pub struct Sent;

impl Outcome for () {
    fn outcome(self) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}

impl<E: Into<Box<dyn Error>>> Outcome for Result<(), E> {
    fn outcome(self) -> Result<(), Box<dyn Error>> {
        unless_stopped(self.map_err(Into::into))
    }
}

impl Outcome<Shared> for Result<(), Box<dyn Error + Send + Sync>> {
    fn outcome(self) -> Result<(), Box<dyn Error>> {
        unless_stopped(self.map_err(|error| error as Box<dyn Error>))
    }
}

impl Outcome<Sent> for Result<(), Box<dyn Error + Send>> {
    fn outcome(self) -> Result<(), Box<dyn Error>> {
        unless_stopped(self.map_err(|error| error as Box<dyn Error>))
    }
}

fn unless_stopped(result: Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    match result {
        Err(error) if !error.is::<Stopped>() => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn ends<How>(outcome: impl Outcome<How>) -> Option<String> {
        outcome.outcome().err().map(|error| error.to_string())
    }

    /// The types differ in the error only, so the compiler must infer the conversion.
    #[test]
    fn every_common_error_type_is_an_outcome() {
        let why = || io::Error::other("why");
        assert_eq!(ends(()), None);
        assert_eq!(ends(Err(why())).as_deref(), Some("why"));
        assert_eq!(ends(Err("why")).as_deref(), Some("why"));
        assert_eq!(ends(Err("why".to_owned())).as_deref(), Some("why"));
        let plain: Result<(), Box<dyn Error>> = Err(why().into());
        assert_eq!(ends(plain).as_deref(), Some("why"));
        let shared: Result<(), Box<dyn Error + Send + Sync>> = Err(why().into());
        assert_eq!(ends(shared).as_deref(), Some("why"));
        let sent: Result<(), Box<dyn Error + Send>> = Err(Box::new(why()));
        assert_eq!(ends(sent).as_deref(), Some("why"));
    }

    #[test]
    fn stopped_is_a_normal_end_in_every_box() {
        assert_eq!(ends(Err(Stopped)), None);
        let plain: Result<(), Box<dyn Error>> = Err(Stopped.into());
        assert_eq!(ends(plain), None);
        let shared: Result<(), Box<dyn Error + Send + Sync>> = Err(Stopped.into());
        assert_eq!(ends(shared), None);
        let sent: Result<(), Box<dyn Error + Send>> = Err(Box::new(Stopped));
        assert_eq!(ends(sent), None);
    }
}
