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
/// turns into a `Box<dyn Error>`, or with a boxed error that is `Send`. [`Stopped`] is a normal end;
/// any other error ends the run.
///
/// `How` names the conversion. The compiler infers it, as only one of them fits each type. It is
/// there because the standard library does not convert `Box<dyn Error + Send + Sync>` to
/// `Box<dyn Error>`, and without it the implementations would overlap.
pub trait Outcome<How = Converted> {
    /// The error that ends the run, if any.
    fn outcome(self) -> Result<(), Box<dyn Error>>;
}

/// The conversion of [`Outcome`] by `Into<Box<dyn Error>>`.
pub struct Converted;

/// The conversion of [`Outcome`] of a `Box<dyn Error + Send + Sync>`.
pub struct Shared;

/// The conversion of [`Outcome`] of a `Box<dyn Error + Send>`.
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

    /// Nothing but the type of the error differs, so the compiler must find the conversion alone.
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
