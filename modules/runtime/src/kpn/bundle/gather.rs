//! Many writers to one reader, which takes a token of each.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::kpn::ports::Input;
use crate::kpn::select::Source;

/// N channels to one reader, read in rows: one token of each member.
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
    /// How many members there are.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port.
    pub fn is_connected(&self) -> bool {
        self.members.iter().any(Input::is_connected)
    }

    /// One token of each member, in their order; `None` as soon as one member is at its end (the
    /// tokens of an unfinished row are never seen). Dropping the future before it is ready loses
    /// nothing: the next read goes on with the row.
    pub async fn read(&mut self) -> Option<Vec<T>> {
        ReadRow { gather: self }.await
    }

    /// Says that nobody waits for the port any more, after [`poll_read`](Self::poll_read) was
    /// pending.
    pub fn turn_away(&mut self) {
        if let Some(member) = self.members.get_mut(self.row.len()) {
            member.turn_away();
        }
    }

    /// Polls for the next row: what [`read`](Self::read) awaits.
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

/// The future of [`Gather::read`].
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

/// N channels to one reader, which folds one token of each member into one.
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
    /// How many members there are.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port.
    pub fn is_connected(&self) -> bool {
        self.members.iter().any(Input::is_connected)
    }

    /// One token of each member, folded from the left in their order, so `fold` need be neither
    /// commutative nor associative; `None` as soon as one member is at its end. Dropping the
    /// future before it is ready loses nothing, if the next read folds the same way. A panic of `fold` loses
    /// the row: the next read drops the rest of it, and folds the row after it.
    pub async fn read(&mut self, mut fold: impl FnMut(T, T) -> T) -> Option<T> {
        while !self.members.is_empty() {
            while let Some(member) = self.members.get_mut(self.next) {
                let token = member.read().await?;
                self.next += 1;
                self.folded = match self.folded.take() {
                    Some(folded) => Some(fold(folded, token)),
                    None if self.next == 1 => Some(token),
                    // The fold of an earlier token panicked: the row is lost.
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
