//! Waits for one of several ports.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use super::ports::Input;
use graphmap_executor::exec::current;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::{Interval, Sleep};

/// A port that can be waited for together with others.
#[diagnostic::on_unimplemented(
    message = "`select!` cannot wait for `{Self}`",
    label = "this arm names a `{Self}`",
    note = "name the port itself, as in `token = p.input => ..`, not `Some(token) = p.input.read() \
            => ..`",
    note = "`select!` waits for `Input`, `Select`, `Gather`, `select.read_or_end()`, \
            `output.stopped()`, `Sleep` and `Interval`"
)]
pub trait Source {
    /// Type of the items that a read returns.
    type Item;
    /// True if it is a stream that ends by itself. When all streams have ended, the wait for the
    /// other sources ends as well.
    const STREAM: bool = true;
    /// Polls for the next item. Returns `Ready(None)` at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;
    /// Cancels the wait of a pending [`poll_next`](Self::poll_next). The default has no effect.
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

impl Source for Sleep {
    type Item = ();
    const STREAM: bool = false;
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<()>> {
        Sleep::poll_next(self, context)
    }
    fn turn_away(&mut self) {
        Sleep::turn_away(self);
    }
}

impl Source for Interval {
    /// The time at which the timer was due.
    type Item = Instant;
    const STREAM: bool = false;
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(context).map(Some)
    }
    fn turn_away(&mut self) {
        Interval::turn_away(self);
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

/// The item that [`any`] has read, by the index of the port.
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

/// A tuple of one to eight `(&mut port, bool)`: the ports, and for each whether this call waits for
/// it.
pub trait Sources {
    /// An item of one of the ports.
    type Item;
    /// Polls the ports that this call waits for, starting at index `first` (modulo
    /// [`COUNT`](Self::COUNT)), until one has an item. Returns `Ready(None)` if no stream among
    /// them is pending, even if another source is.
    fn poll_any(&mut self, first: usize, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;
    /// Cancels the waits of all ports that this call waits for.
    fn turn_away(&mut self);
    /// Number of ports.
    const COUNT: usize;
}

macro_rules! sources {
    ($count:literal: $($name:ident $at:tt),+) => {
        impl<$($name: Source),+> Sources for ($((&mut $name, bool),)+) {
            type Item = OneOf<$($name::Item),+>;
            const COUNT: usize = $count;
            #[allow(clippy::modulo_one)] // a single port has index 0
            fn poll_any(
                &mut self,
                first: usize,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                let mut open = false;
                for index in first..first + $count {
                    match index % $count {
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

/// Waits until one of the ports has an item, and reads it.
///
/// Ports at their end are skipped. Returns `None` when all streams that this call waits for have
/// ended ([`Source::STREAM`]), or if there are none. Other sources, such as timers and
/// [`Output::stopped`](crate::Output::stopped), do not keep the call waiting. [`select!`] is based
/// on this function and easier to read.
///
/// If several ports have items, successive calls start at different ports, so all are served.
/// Dropping the future before it is ready takes no item. Which port is read depends on the speed of
/// other processes, so a process that uses this is not deterministic.
///
/// [`select!`]: crate::select!
///
/// # Panics
/// The future panics if it must wait outside of a process of a run.
pub fn any<S>(sources: S) -> Any<S> {
    Any {
        sources,
        first: None,
        turn_away: |_| {},
    }
}

/// The future of [`any`].
// Only the `Future` implementation requires `Sources`, so that the compiler reports a wrong source
// only once.
#[must_use = "this does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Any<S> {
    sources: S,
    /// Index of the port that is polled first. The first poll of the future sets it.
    first: Option<usize>,
    /// Cancels the waits when the future is dropped. It does nothing before the first poll, which
    /// sets it, because only `poll` knows the type of the sources.
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
            current::with_current(Scheduler::next_choice).unwrap_or(0) % S::COUNT
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

/// Waits until one of up to eight ports has an item, and runs the arm of that port.
///
/// The ports may be [`Input`], [`Select`](crate::Select), [`Gather`](crate::Gather),
/// [`FlowInput`](crate::FlowInput), [`FlowSelect`](crate::FlowSelect),
/// [`read_or_end`](crate::Select::read_or_end) of a select bundle,
/// [`stopped`](crate::Output::stopped) of an output, as in `() = out.stopped()`, or
/// [`closing`](crate::FlowOutput::closing) of a flow-controlled output. They may also be timers:
/// [`Sleep`](crate::Sleep) and [`Interval`](crate::Interval).
///
/// Ports at their end are skipped. The `else` arm runs when all inputs that the call waits for have
/// ended, or if there are none: `stopped`, `closing` and timers do not keep it waiting. It is
/// mandatory, because every stream ends. An arm with `if` is waited for only if the condition is
/// true. The comma after a body in braces is optional. Which arm runs depends on the speed of other
/// processes, so a process that uses `select!` is not deterministic.
///
/// An arm names the port, not a read of it: `token = p.input`. In `select!` of other libraries,
/// this is `Some(token) = p.input.read()`.
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
    // The arms are parsed one after the other. First the port of an arm is parsed, then its body,
    // and the arm gets one of the remaining names. Rules with `compile_error!` report syntax errors
    // in terms of `select!`. Without them, the compiler would report the recursion of this macro.
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
        // A separate statement, so that the ports are no longer borrowed in the arms.
        match {
            let one = $crate::any(($($ports)*)).await;
            one
        } {
            ::core::option::Option::None => $end,
            // The match is exhaustive, because the other variants have a type without values. The
            // pattern is matched in a separate statement, so that the compiler reports the type of
            // the token and not `OneOf`.
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
