//! Gather and reduce: one reader takes one token from each of many writers.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::kpn::ports::Input;
use crate::kpn::select::Source;

/// Input bundle with N channels and one reader. It is read in rows: one token from each member.
#[derive(Debug)]
pub struct Gather<T> {
    members: Vec<Input<T>>,
    row: Vec<T>,
}

impl<T> From<Vec<Input<T>>> for Gather<T> {
    fn from(members: Vec<Input<T>>) -> Self {
        Gather {
            members,
            row: Vec::new(),
        }
    }
}

impl<T> Gather<T> {
    /// Returns the number of members.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns true if a channel is connected to the port. The answer stays the same when members
    /// end.
    pub fn is_connected(&self) -> bool {
        self.members.iter().any(Input::is_connected)
    }

    /// Reads one token from each member, and returns the tokens in the order of the members. Waits
    /// for the members in their order. Returns `None` when it comes to a member that is at its end,
    /// or if there are no members. The tokens of an unfinished row are then never returned.
    ///
    /// If the future is dropped before it is ready, the next read continues with the row.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    pub async fn read(&mut self) -> Option<Vec<T>> {
        ReadRow { gather: self }.await
    }

    /// Cancels the wait of a pending [`poll_read`](Self::poll_read): the process no longer counts
    /// as waiting for the port.
    pub fn turn_away(&mut self) {
        if let Some(member) = self.members.get_mut(self.row.len()) {
            member.turn_away();
        }
    }

    /// Polls for the next row, as the future of [`read`](Self::read) does. While this is pending,
    /// the process counts as waiting for the port until it is woken, polls again, or calls
    /// [`turn_away`](Self::turn_away).
    ///
    /// # Panics
    /// Panics if it must wait outside of a process of a run.
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<T>>> {
        if self.members.is_empty() {
            return Poll::Ready(None);
        }
        while let Some(member) = self.members.get_mut(self.row.len()) {
            let Some(token) = ready!(member.poll_read(context)) else {
                return Poll::Ready(None);
            };
            self.row.reserve_exact(self.members.len() - self.row.len());
            self.row.push(token);
        }
        Poll::Ready(Some(std::mem::take(&mut self.row)))
    }
}

/// Future of [`Gather::read`].
struct ReadRow<'a, T> {
    gather: &'a mut Gather<T>,
}

impl<T> Future for ReadRow<'_, T> {
    type Output = Option<Vec<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Vec<T>>> {
        self.get_mut().gather.poll_read(context)
    }
}

impl<T> Drop for ReadRow<'_, T> {
    fn drop(&mut self) {
        self.gather.turn_away();
    }
}

/// Input bundle with N channels and one reader, which folds one token from each member into one.
///
/// ```
/// use graphmap_runtime::{Local, Options, Reduce};
///
/// let mut net = Local::new();
/// let (outputs, inputs): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<String>(1)).unzip();
/// for (output, word) in outputs.into_iter().zip(["one ", "two ", "three"]) {
///     let mut output = output;
///     net.spawn(async move { output.write(word.to_string()).await });
/// }
/// net.spawn(async move {
///     let mut reduce = Reduce::from(inputs);
///     assert_eq!(reduce.read(|a, b| a + &b).await.as_deref(), Some("one two three"));
///     assert_eq!(reduce.read(|a, b| a + &b).await, None);
/// });
/// net.run(&Options::new()).unwrap();
/// ```
#[derive(Debug)]
pub struct Reduce<T> {
    members: Vec<Input<T>>,
    folded: Option<T>,
    next: usize,
}

impl<T> From<Vec<Input<T>>> for Reduce<T> {
    fn from(members: Vec<Input<T>>) -> Self {
        Reduce {
            members,
            folded: None,
            next: 0,
        }
    }
}

impl<T> Reduce<T> {
    /// Returns the number of members.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns true if a channel is connected to the port. The answer stays the same when members
    /// end.
    pub fn is_connected(&self) -> bool {
        self.members.iter().any(Input::is_connected)
    }

    /// Reads one token from each member, and folds them from the left in member order. `fold`
    /// therefore need not be commutative or associative. Waits for the members in their order.
    /// Returns `None` when it comes to a member that is at its end, or if there are no members. The
    /// tokens of an unfinished row are then never returned.
    ///
    /// If the future is dropped before it is ready, the next read continues with the row, and must
    /// fold in the same way. If `fold` panics, the row is lost: the next read drops the rest of it,
    /// and folds the next row.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    pub async fn read(&mut self, mut fold: impl FnMut(T, T) -> T) -> Option<T> {
        while !self.members.is_empty() {
            while let Some(member) = self.members.get_mut(self.next) {
                let token = member.read().await?;
                self.next += 1;
                self.folded = match self.folded.take() {
                    Some(folded) => Some(fold(folded, token)),
                    None if self.next == 1 => Some(token),
                    // An earlier call of `fold` panicked, so the row is lost.
                    None => None,
                };
            }
            self.next = 0;
            if let Some(folded) = self.folded.take() {
                return Some(folded);
            }
        }
        None
    }
}

impl<T> Source for Gather<T> {
    type Item = Vec<T>;
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<T>>> {
        self.poll_read(context)
    }
    fn turn_away(&mut self) {
        Gather::turn_away(self);
    }
}
