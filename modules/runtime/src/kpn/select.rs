//! Waiting for one of several ports.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::ports::Input;
use graphmap_executor::exec::current;
use graphmap_executor::exec::scheduler::Scheduler;

/// A port that can be waited for together with others.
#[diagnostic::on_unimplemented(
    message = "`select!` cannot wait for `{Self}`",
    label = "this arm names a `{Self}`",
    note = "name the port itself, as in `token = p.input => ..`, not `Some(token) = p.input.read() \
            => ..`",
    note = "`select!` waits for `Input`, `Select`, `Gather`, `select.read_or_end()` and \
            `output.stopped()`"
)]
pub trait Source {
    /// What a read gives.
    type Item;
    /// Whether it is a stream that comes to an end by itself. Others are not waited for any more
    /// when all streams are at their end.
    const STREAM: bool = true;
    /// Polls for the next item; `None` at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;
    /// Says that nobody waits for the port any more, after [`poll_next`](Self::poll_next) was
    /// pending.
    fn turn_away(&mut self) {}
}

impl<T> Source for Input<T> {
    type Item = T;
    #[inline]
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_read(context)
    }
    #[inline]
    fn turn_away(&mut self) {
        Input::turn_away(self);
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    type Item = S::Item;
    const STREAM: bool = S::STREAM;
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        (**self).poll_next(context)
    }
    fn turn_away(&mut self) {
        (**self).turn_away();
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

/// A tuple of one to eight `(&mut port, bool)`: the ports to wait for, and whether each one is
/// to be waited for this time.
pub trait Sources {
    /// An item of one of them.
    type Item;
    /// Polls them, beginning with the one at `first`; `None` when all are at their end.
    fn poll_any(&mut self, first: usize, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;
    /// Says that nobody waits for them any more.
    fn turn_away(&mut self);
    /// How many there are.
    const COUNT: usize;
}

macro_rules! sources {
    ($count:literal: $($name:ident $at:tt),+) => {
        impl<$($name: Source),+> Sources for ($((&mut $name, bool),)+) {
            type Item = OneOf<$($name::Item),+>;
            const COUNT: usize = $count;
            #[allow(clippy::modulo_one)] // one port has one turn
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
            #[inline]
            fn turn_away(&mut self) {
                $(if self.$at.1 {
                    self.$at.0.turn_away();
                })+
            }
        }
    };
}

sources!(1: A 0);
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
pub fn any<S>(sources: S) -> Any<S> {
    Any {
        sources,
        first: None,
        turn_away: |_| {},
    }
}

/// The future of [`any`].
// Only its `Future` asks that all sources are some: where one is not, the compiler says so once.
#[must_use = "this does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Any<S> {
    sources: S,
    /// Where the turns of this call begin, from its first poll on.
    first: Option<usize>,
    /// What is done with the sources when nobody waits for them any more: nothing before the first
    /// poll, which knows what they are.
    turn_away: fn(&mut S),
}

// The sources are borrowed ports, none of which is pinned.
impl<S> Unpin for Any<S> {}

impl<S: Sources> Future for Any<S> {
    type Output = Option<S::Item>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.get_mut();
        let first = *this.first.get_or_insert_with(|| {
            current::with_current(Scheduler::turn_of_choice).unwrap_or(0) % S::COUNT
        });
        this.turn_away = S::turn_away;
        this.sources.poll_any(first, context)
    }
}

impl<S> Drop for Any<S> {
    #[inline]
    fn drop(&mut self) {
        (self.turn_away)(&mut self.sources);
    }
}

/// Waits for one of one to eight ports ([`Input`], [`Select`](crate::Select), [`Gather`](crate::Gather),
/// [`read_or_end`](crate::Select::read_or_end) of a select bundle, or
/// [`stopped`](crate::Output::stopped) of an output, as `() = out.stopped()`) and runs the arm of
/// the one that has something first. Ports at their end are passed by; when all are, the `else`
/// arm runs; there must be one, for every stream comes to its end. An arm with `if` is waited for
/// only when the condition holds. After a body in braces the comma may be left out.
///
/// The port is named, not a read of it: `token = p.input`, where `select!` of other libraries has
/// `Some(token) = p.input.read()`.
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
    // One arm after the other is taken apart, first its port, then its body, and gets one of the
    // names that are left. What is no arm is told in words of `select!`: without these rules the
    // compiler would tell of the recursion of this macro.
    (@port [] [] [$($names:ident)*] $(else => $end:expr $(,)?)?) => {
        ::core::compile_error!(
            "`select!` has no arm for a port: expected arms such as `token = p.input => ..,` and \
             then `else => ..`"
        )
    };
    (@port [$($ports:tt)*] [$($arms:tt)*] [$($names:ident)*]) => {
        ::core::compile_error!(
            "`select!` has no `else` arm, which runs when all ports have ended: add one at the \
             end, such as `else => break,`"
        )
    };
    (@port [$($ports:tt)*] [$($name:ident ($pattern:pat) ($body:expr))*] [$($names:ident)*]
        else => $end:expr $(,)?) => {
        // A statement of its own, so that the ports are free again in the arms.
        match {
            let one = $crate::any(($($ports)*)).await;
            one
        } {
            ::core::option::Option::None => $end,
            // All that can come: what is not there is of a type without values.
            // The token is taken apart by itself, so that the compiler speaks of its type and not of ours.
            $(::core::option::Option::Some($crate::OneOf::$name(token)) => {
                let ($pattern) = token;
                $body
            })*
        }
    };
    (@port [$($ports:tt)*] [$($arms:tt)*] [$($names:ident)*] else $($rest:tt)*) => {
        ::core::compile_error!(
            "`else => ..` must be the last arm of `select!`, with one body and no condition"
        )
    };
    (@port [] [] [$($names:ident)*] biased; $($rest:tt)*) => {
        ::core::compile_error!(
            "`select!` does not support `biased;`: it is always fair to ports that are ready at \
             the same time"
        )
    };
    (@port [$($ports:tt)*] [$($arms:tt)*] [] $($rest:tt)*) => {
        ::core::compile_error!("`select!` waits for at most eight ports")
    };
    (@port [$($ports:tt)*] [$($arms:tt)*] [$($names:ident)*]
        $pattern:pat = $port:expr => $($rest:tt)*) => {
        $crate::select!(@body [$($ports)* (&mut $port, true),]
            [$($arms)*] [$($names)*] ($pattern) $($rest)*)
    };
    (@port [$($ports:tt)*] [$($arms:tt)*] [$($names:ident)*]
        $pattern:pat = $port:expr, if $guard:expr => $($rest:tt)*) => {
        $crate::select!(@body [$($ports)* (&mut $port, { let guard: bool = $guard; guard }),]
            [$($arms)*] [$($names)*] ($pattern) $($rest)*)
    };
    (@port [$($ports:tt)*] [$($arms:tt)*] [$($names:ident)*] $first:tt $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "`select!` cannot parse the arm that begins with `",
            ::core::stringify!($first),
            "`: expected `token = p.input => ..,` or `token = p.input, if condition => ..,`, and \
             `else => ..` as the last arm"
        ))
    };
    (@body [$($ports:tt)*] [$($arms:tt)*] [$name:ident $($names:ident)*] ($pattern:pat)
        $body:block, $($rest:tt)*) => {
        $crate::select!(@port [$($ports)*] [$($arms)* $name ($pattern) ($body)] [$($names)*]
            $($rest)*)
    };
    (@body [$($ports:tt)*] [$($arms:tt)*] [$name:ident $($names:ident)*] ($pattern:pat)
        $body:block $($rest:tt)*) => {
        $crate::select!(@port [$($ports)*] [$($arms)* $name ($pattern) ($body)] [$($names)*]
            $($rest)*)
    };
    (@body [$($ports:tt)*] [$($arms:tt)*] [$name:ident $($names:ident)*] ($pattern:pat)
        $body:expr $(, $($rest:tt)*)?) => {
        $crate::select!(@port [$($ports)*] [$($arms)* $name ($pattern) ($body)] [$($names)*]
            $($($rest)*)?)
    };
    (@body [$($ports:tt)*] [$($arms:tt)*] [$($names:ident)*] ($pattern:pat)) => {
        ::core::compile_error!(::core::concat!(
            "the arm of `", ::core::stringify!($pattern), "` in `select!` has no body"
        ))
    };
    (@body [$($ports:tt)*] [$($arms:tt)*] [$($names:ident)*] ($pattern:pat) $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "the body of the arm of `", ::core::stringify!($pattern),
            "` in `select!` needs a comma after it, or braces around it"
        ))
    };
    ($($all:tt)*) => { $crate::select!(@port [] [] [A B C D E F G H] $($all)*) };
}
