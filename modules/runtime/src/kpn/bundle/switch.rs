//! One writer to many readers, each token to the one that the writer names.

use crate::kpn::ports::{Output, TryWriteError, Write};
use crate::kpn::stop::Stop;

/// One writer to N channels: the writer says for each token which member it goes to.
///
/// The counterpart of [`Select`](crate::Select), as SWITCH and SELECT of dataflow graphs. It is N
/// outputs under one name and nothing more, so it keeps a network deterministic: which member gets
/// a token is the writer's decision, not that of time. A member whose reader has left answers
/// [`Stopped`](crate::Stopped); the others go on.
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
    /// How many members there are, those that have left included.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port. It stays so when readers leave: that is told by
    /// [`write_to`](Self::write_to) and [`stopped`](Self::stopped).
    pub fn is_connected(&self) -> bool {
        self.members.iter().any(Output::is_connected)
    }

    /// Writes the token to one member, as soon as that one has room for it. Dropping the future
    /// before it is ready means what it does for [`Output::write`].
    ///
    /// # Errors
    /// [`Stopped`](crate::Stopped) if the reader of this member has left: the token is dropped. Writes to other
    /// members are still possible.
    ///
    /// # Panics
    /// If there is no such member.
    #[inline]
    #[track_caller]
    pub fn write_to(&mut self, member: usize, token: T) -> Write<'_, T> {
        self.member(member).write(token)
    }

    /// Writes the token to one member if there is room for it now. What it answers depends on how
    /// fast the reader is, so a process that asks is not deterministic.
    ///
    /// # Errors
    /// Gives the token back, and says why.
    ///
    /// # Panics
    /// If there is no such member.
    #[inline]
    #[track_caller]
    pub fn try_write_to(&mut self, member: usize, token: T) -> Result<(), TryWriteError<T>> {
        self.member(member).try_write(token)
    }

    /// Waits until all readers have left, without writing: as [`Output::stopped`].
    pub fn stopped(&mut self) -> Stop<'_, T> {
        Stop::all(&mut self.members)
    }

    /// Waits until the reader of one member has left, without writing: as [`Output::stopped`].
    ///
    /// # Panics
    /// If there is no such member.
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
