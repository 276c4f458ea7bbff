//! Switch: one writer sends each token to the one of many readers that it names.

use crate::kpn::ports::{Output, TryWriteError, Write};
use crate::kpn::stop::Stop;

/// Output bundle with one writer and N channels. The writer names the member for each token.
///
/// It is the counterpart of [`Select`](crate::Select), as SWITCH is to SELECT in dataflow graphs.
/// It consists only of N outputs under one name. A network with switches stays deterministic,
/// because the choice of a member does not depend on time. A write to a member whose reader has
/// left returns [`Stopped`](crate::Stopped), and does not affect the others.
///
/// ```
/// use graphmap_runtime::{Local, Options, Stopped, Switch};
///
/// let mut net = Local::new();
/// let (outputs, inputs): (Vec<_>, Vec<_>) = (0..2).map(|_| net.channel::<u32>(1)).unzip();
/// net.spawn(async move {
///     let mut switch = Switch::from(outputs);
///     for n in 0..10 {
///         switch.write_to(n % 2, n as u32).await?;
///     }
///     Ok::<(), Stopped>(())
/// });
/// for (member, mut input) in inputs.into_iter().enumerate() {
///     net.spawn(async move {
///         while let Some(token) = input.read().await {
///             assert_eq!(token as usize % 2, member);
///         }
///     });
/// }
/// net.run(&Options::new()).unwrap();
/// ```
#[derive(Debug)]
pub struct Switch<T> {
    members: Vec<Output<T>>,
}

impl<T> From<Vec<Output<T>>> for Switch<T> {
    fn from(members: Vec<Output<T>>) -> Self {
        Switch { members }
    }
}

impl<T> Switch<T> {
    /// Returns the number of members, including those whose readers have left.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns true if a channel is connected to the port. The answer stays the same when readers
    /// leave, which [`write_to`](Self::write_to) and [`stopped`](Self::stopped) report.
    pub fn is_connected(&self) -> bool {
        self.members.iter().any(Output::is_connected)
    }

    /// Writes the token to one member, as soon as that member has space. Dropping the future before
    /// it is ready withdraws the token, unless the reader has taken it by then.
    ///
    /// # Errors
    /// Returns [`Stopped`](crate::Stopped) if the reader of this member has left, or if the member
    /// has no channel. The token is dropped. Writes to other members are still possible.
    ///
    /// # Panics
    /// Panics at the call if the member does not exist. The future panics if it must wait outside
    /// of a process of a run.
    #[inline]
    #[track_caller]
    pub fn write_to(&mut self, member: usize, token: T) -> Write<'_, T> {
        self.member(member).write(token)
    }

    /// Writes the token to one member, if that member has space now. The result depends on the
    /// speed of the reader, so a process that uses this is not deterministic.
    ///
    /// # Errors
    /// Returns the token in [`TryWriteError::Full`] if the member is full. Returns it in
    /// [`TryWriteError::Stopped`] if the reader has left or the member has no channel.
    ///
    /// # Panics
    /// Panics if the member does not exist.
    #[inline]
    #[track_caller]
    pub fn try_write_to(&mut self, member: usize, token: T) -> Result<(), TryWriteError<T>> {
        self.member(member).try_write(token)
    }

    /// Waits until all readers have left, without writing. See [`Output::stopped`].
    pub fn stopped(&mut self) -> Stop<'_, T> {
        Stop::all(&mut self.members)
    }

    /// Waits until the reader of one member has left, without writing. See [`Output::stopped`].
    ///
    /// # Panics
    /// Panics at the call if the member does not exist.
    #[track_caller]
    pub fn member_stopped(&mut self, member: usize) -> Stop<'_, T> {
        self.member(member).stopped()
    }

    #[inline]
    #[track_caller]
    fn member(&mut self, member: usize) -> &mut Output<T> {
        let members = self.members.len();
        let Some(output) = self.members.get_mut(member) else {
            panic!("switch: member {member} does not exist: there are {members}, numbered from 0");
        };
        output
    }
}
