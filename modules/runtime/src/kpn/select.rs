//! Waiting for one of several ports.

use std::convert::Infallible;
use std::future::poll_fn;
use std::task::{Context, Poll};

use super::bundle::{Gather, Select};
use super::ports::Input;
use crate::exec::scheduler::{self, Scheduler};

/// A port that can be waited for together with others.
pub trait Source {
    /// What a read gives.
    type Item;
    /// Whether it is a stream that comes to an end by itself. Others are not waited for any more
    /// when all streams are at their end.
    const STREAM: bool = true;
    /// Polls for the next item; `None` at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;
}

impl<T> Source for Input<T> {
    type Item = T;
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_read(context)
    }
}

impl<T> Source for Select<T> {
    type Item = (usize, T);
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        self.poll_read(context)
    }
}

impl<T> Source for Gather<T> {
    type Item = Vec<T>;
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<T>>> {
        self.poll_read(context)
    }
}

/// What [`any`] read, by the position of the port.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum OneOf<
    A,
    B = Infallible,
    C = Infallible,
    D = Infallible,
    E = Infallible,
    F = Infallible,
    G = Infallible,
    H = Infallible,
> {
    A(A),
    B(B),
    C(C),
    D(D),
    E(E),
    F(F),
    G(G),
    H(H),
}

/// A tuple of two to eight `(&mut port, bool)`: the ports to wait for, and whether each one is
/// to be waited for this time.
pub trait Sources {
    /// An item of one of them.
    type Item;
    /// Polls them, beginning with the one at `first`; `None` when all are at their end.
    fn poll_any(&mut self, first: usize, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;
    /// How many there are.
    const COUNT: usize;
}

macro_rules! sources {
    ($count:literal: $($name:ident $at:tt),+) => {
        impl<$($name: Source),+> Sources for ($((&mut $name, bool),)+) {
            type Item = OneOf<$($name::Item),+>;
            const COUNT: usize = $count;
            fn poll_any(
                &mut self,
                first: usize,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                let mut open = false;
                for turn in first..first + $count {
                    match turn % $count {
                        $($at if self.$at.1 => match self.$at.0.poll_next(context) {
                            Poll::Ready(Some(item)) => {
                                return Poll::Ready(Some(OneOf::$name(item)));
                            }
                            Poll::Ready(None) => {}
                            Poll::Pending => open |= $name::STREAM,
                        },)+
                        _ => {}
                    }
                }
                if open { Poll::Pending } else { Poll::Ready(None) }
            }
        }
    };
}

sources!(2: A 0, B 1);
sources!(3: A 0, B 1, C 2);
sources!(4: A 0, B 1, C 2, D 3);
sources!(5: A 0, B 1, C 2, D 3, E 4);
sources!(6: A 0, B 1, C 2, D 3, E 4, F 5);
sources!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
sources!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// Reads from whichever of the ports has something first; `None` when all that are to be waited
/// for are at their end. Ports at their end are passed by. The function under [`select!`]:
/// that is easier to read.
///
/// Ports that have something at once take turns from call to call. Dropping the future before
/// it is ready takes nothing.
///
/// [`select!`]: crate::select!
pub async fn any<S: Sources>(mut sources: S) -> Option<S::Item> {
    let first = scheduler::with_current(Scheduler::turn_of_choice).unwrap_or(0);
    poll_fn(|context| sources.poll_any(first % S::COUNT, context)).await
}

/// Waits for one of two to eight ports ([`Input`], [`Select`], [`Gather`], or
/// [`stopped`](crate::Output::stopped) of an output, as `() = out.stopped()`) and runs the arm of
/// the one that has something first. Ports at their end are passed by; when all are, the `else`
/// arm runs. An arm with `if` is waited for only when the condition holds.
///
/// ```
/// use graphmap_runtime::{Local, Options, select};
///
/// let mut net = Local::new();
/// let (mut words, mut a) = net.channel::<&str>(1);
/// let (mut numbers, mut b) = net.channel::<u32>(1);
/// net.spawn(async move { words.write("one").await });
/// net.spawn(async move { numbers.write(2).await });
/// net.spawn(async move {
///     let (mut words, mut sum) = (0, 0);
///     loop {
///         select! {
///             word = a => words += word.len(),
///             number = b, if sum < 10 => sum += number,
///             else => break,
///         }
///     }
///     assert_eq!((words, sum), (3, 2));
/// });
/// net.run(&Options::new()).unwrap();
/// ```
#[macro_export]
macro_rules! select {
    (@ports [$($ports:tt)*] [$($arms:tt)*] else => $end:expr $(,)?) => {
        match $crate::any(($($ports)*)).await {
            ::core::option::Option::None => $end,
            ::core::option::Option::Some(one) => {
                $crate::select!(@arms one [] [A B C D E F G H] $($arms)*)
            }
        }
    };
    (@ports [$($ports:tt)*] [$($arms:tt)*]
        $pattern:pat = $port:expr => $body:expr, $($rest:tt)+) => {
        $crate::select!(@ports [$($ports)* (&mut $port, true),]
            [$($arms)* ($pattern) ($body)] $($rest)+)
    };
    (@ports [$($ports:tt)*] [$($arms:tt)*]
        $pattern:pat = $port:expr, if $guard:expr => $body:expr, $($rest:tt)+) => {
        $crate::select!(@ports [$($ports)* (&mut $port, $guard),]
            [$($arms)* ($pattern) ($body)] $($rest)+)
    };
    (@arms $one:ident [$($done:tt)*] [$($name:ident)*]) => {
        match $one {
            $($done)*
            #[allow(unreachable_patterns)]
            _ => ::core::unreachable!("a port that was not waited for"),
        }
    };
    (@arms $one:ident [$($done:tt)*] [$name:ident $($names:ident)*]
        ($pattern:pat) ($body:expr) $($rest:tt)*) => {
        $crate::select!(@arms $one
            [$($done)* $crate::OneOf::$name($pattern) => $body,] [$($names)*] $($rest)*)
    };
    ($($all:tt)+) => { $crate::select!(@ports [] [] $($all)+) };
}
