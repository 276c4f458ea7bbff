//! The forms of a call: one that waits, one that returns errors, and one that returns a request.
//!
//! [`forms`] declares them in a trait, from one block that begins the call. This invocation
//!
//! ```text
//! forms! {
//!     /// Combines the elements of all ranks one by one.
//!     fn all_reduce_into,
//!     /// # Errors
//!     /// [`CallError::Mismatch`], [`CallError::Count`] or another error.
//!     try_all_reduce_into,
//!     immediate_all_reduce_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
//!     where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
//!     {
//!         let (reduction, range) = (Reduction::new(sendbuf, &op), BufferRange::of(recvbuf));
//!         // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
//!         unsafe { begin::all_reduce(self.as_handle().groups(), reduction, range) }
//!     }
//! }
//! ```
//!
//! generates
//!
//! ```text
//! /// Combines the elements of all ranks one by one.
//! #[track_caller]
//! fn all_reduce_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
//! where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
//! {
//!     done(complete(BLOCK));
//! }
//!
//! /// Does the same as [`all_reduce_into`](Self::all_reduce_into), but returns errors.
//! ///
//! /// # Errors
//! /// [`CallError::Mismatch`], [`CallError::Count`] or another error.
//! #[track_caller]
//! fn try_all_reduce_into<S, R, O>(&self, ..) -> Result<(), CallError> where ..
//! {
//!     complete(BLOCK).map(drop)
//! }
//!
//! /// Starts the call of [`all_reduce_into`](Self::all_reduce_into), and returns its request.
//! #[track_caller]
//! fn immediate_all_reduce_into<'a, S, R, O, Sc>(
//!     &self, scope: Sc, sendbuf: &'a S, recvbuf: &'a mut R, op: O,
//! ) -> Request<'a, R, Sc>
//! where
//!     S: 'a + Buffer + ?Sized, R: 'a + BufferMut + ?Sized, O: 'a + Operation, Sc: Scope<'a>,
//! {
//!     Request::begin(BLOCK, recvbuf, scope)
//! }
//! ```
//!
//! `BLOCK` begins the call: it evaluates to a [`StartedCall`](crate::request::StartedCall). The
//! parameters are a buffer to send from, a buffer to receive into, or both in this order, then
//! those passed by value. The request borrows both buffers, and returns the last one as its data.
//! The generics of the immediate form are given because rsmpi does not order them alike everywhere.
//! Without the line of the `try_` form, only the other two are generated. `[unsafe]` before `fn`
//! makes these two unsafe to call. `CallError` must be in scope.

macro_rules! forms {
    // All three forms.
    (
        $(#[$doc:meta])* $([$unsafe:ident])? fn $call:ident,
        $(#[$try_doc:meta])* $try:ident,
        $(#[$immediate_doc:meta])* $immediate:ident<$($generic:ident),+> $parameters:tt
        where $($T:ident: $bound:ident $(+ ?$sized:ident)?),+
        $begin:block
    ) => {
        forms! {
            @waiting
            $(#[$doc])*
            [$($unsafe)?] fn $call $parameters
            where $($T: $bound $(+ ?$sized)?),+
            { $crate::done($crate::request::complete($begin)); }
        }

        forms! {
            @waiting
            #[doc = concat!(" Does the same as [`", stringify!($call), "`](Self::", stringify!($call), "), but returns errors.")]
            #[doc = ""]
            $(#[$try_doc])*
            [] fn $try $parameters -> Result<(), CallError>,
            where $($T: $bound $(+ ?$sized)?),+
            { $crate::request::complete($begin).map(drop) }
        }

        forms! {
            @immediate
            [
                $(#[$immediate_doc])*
                [$($unsafe)?] fn $immediate<$($generic),+> of $call
                where $($T: $bound $(+ ?$sized)?),+
            ]
            $parameters $begin
        }
    };

    // The waiting and the immediate form, without the `try_` form.
    (
        $(#[$doc:meta])* $([$unsafe:ident])? fn $call:ident,
        $(#[$immediate_doc:meta])* $immediate:ident<$($generic:ident),+> $parameters:tt
        where $($T:ident: $bound:ident $(+ ?$sized:ident)?),+
        $begin:block
    ) => {
        forms! {
            @waiting
            $(#[$doc])*
            [$($unsafe)?] fn $call $parameters
            where $($T: $bound $(+ ?$sized)?),+
            { $crate::done($crate::request::complete($begin)); }
        }

        forms! {
            @immediate
            [
                $(#[$immediate_doc])*
                [$($unsafe)?] fn $immediate<$($generic),+> of $call
                where $($T: $bound $(+ ?$sized)?),+
            ]
            $parameters $begin
        }
    };

    (
        @waiting
        $(#[$doc:meta])*
        [$($unsafe:ident)?] fn $name:ident ($self:ident $(, $parameter:ident: $Type:ty)+)
        $(-> $Result:ty,)?
        where $($T:ident: $bound:ident $(+ ?$sized:ident)?),+
        $body:block
    ) => {
        $(#[$doc])*
        #[track_caller]
        $($unsafe)? fn $name<$($T),+>(&$self $(, $parameter: $Type)+) $(-> $Result)?
        where
            $($T: $bound $(+ ?$sized)?,)+
        $body
    };

    // A call that sends and receives. The reference is derived from the pointer, so that the
    // pointer stays valid until the request returns the data.
    (
        @immediate $form:tt
        ($self:ident, $send:ident: &$S:ident, $receive:ident: &mut $R:ident $(, $value:ident: $V:ident)*)
        $begin:block
    ) => {
        forms! {
            @request $form
            ($self, $send: &'a $S, $receive: &'a mut $R $(, $value: $V)*) -> $R
            {
                let data: *mut $R = $receive;
                // SAFETY: the buffer is borrowed for `'a`.
                let $receive = unsafe { &mut *data };
                (data, $begin)
            }
        }
    };

    // A call that only receives.
    (
        @immediate $form:tt
        ($self:ident, $receive:ident: &mut $R:ident $(, $value:ident: $V:ident)*)
        $begin:block
    ) => {
        forms! {
            @request $form
            ($self, $receive: &'a mut $R $(, $value: $V)*) -> $R
            {
                let data: *mut $R = $receive;
                // SAFETY: the buffer is borrowed for `'a`.
                let $receive = unsafe { &mut *data };
                (data, $begin)
            }
        }
    };

    // A call that only sends.
    (
        @immediate $form:tt
        ($self:ident, $send:ident: &$S:ident $(, $value:ident: $V:ident)*)
        $begin:block
    ) => {
        forms! {
            @request $form
            ($self, $send: &'a $S $(, $value: $V)*) -> $S
            { (std::ptr::from_ref($send), $begin) }
        }
    };

    (
        @request
        [
            $(#[$doc:meta])*
            [$($unsafe:ident)?] fn $name:ident<$($generic:ident),+> of $call:ident
            where $($T:ident: $bound:ident $(+ ?$sized:ident)?),+
        ]
        ($self:ident $(, $parameter:ident: $Type:ty)+) -> $Data:ident
        $started:block
    ) => {
        #[doc = concat!(" Starts the call of [`", stringify!($call), "`](Self::", stringify!($call), "), and returns its request.")]
        #[doc = ""]
        $(#[$doc])*
        #[track_caller]
        $($unsafe)? fn $name<'a, $($generic),+>(
            &$self,
            scope: Sc
            $(, $parameter: $Type)+
        ) -> $crate::request::Request<'a, $Data, Sc>
        where
            $($T: 'a + $bound $(+ ?$sized)?,)+
            Sc: $crate::request::Scope<'a>,
        {
            let (data, started) = $started;
            // SAFETY: the data are borrowed for `'a`, exclusively if they are received into.
            unsafe { $crate::request::Request::begin(started, data, scope) }
        }
    };
}

/// Declares a call in two forms: one that panics, and one that returns errors.
///
/// ```text
/// call! {
///     /// Sets elements of a rank.
///     pub fn put,
///     /// # Errors
///     /// [`CallError::Rank`].
///     try_put(&self, values: &[T], target: Rank, offset: usize) -> () {
///         wait(self.core().put(values, number(target), offset))
///     }
/// }
/// ```
///
/// The block is the body of the second form, whose result it is.
macro_rules! call {
    (
        $(#[$doc:meta])* $vis:vis fn $call:ident,
        $(#[$try_doc:meta])* $try:ident $(<$T:ident $(: $bound:ident $(+ $more:tt)*)?>)?
        (&$self:ident $($parameters:tt)*) -> $Result:ty $body:block
    ) => {
        call! {
            @both $(#[$doc])* [$vis] fn $call, $(#[$try_doc])* $try
            [$($T $(: $bound $(+ $more)*)?)?] [&] ($self $($parameters)*) -> $Result $body
        }
    };

    (
        $(#[$doc:meta])* $vis:vis fn $call:ident,
        $(#[$try_doc:meta])* $try:ident
        ($self:ident $($parameters:tt)*) -> $Result:ty $body:block
    ) => {
        call! {
            @both $(#[$doc])* [$vis] fn $call, $(#[$try_doc])* $try
            [] [] ($self $($parameters)*) -> $Result $body
        }
    };

    (
        @both
        $(#[$doc:meta])* [$vis:vis] fn $call:ident, $(#[$try_doc:meta])* $try:ident
        [$($generics:tt)*] [$($by:tt)?]
        ($self:ident $(, $parameter:ident: $Type:ty)* $(,)?) -> $Result:ty $body:block
    ) => {
        $(#[$doc])*
        ///
        /// # Panics
        #[doc = concat!("On an error: see [`", stringify!($try), "`](Self::", stringify!($try), ").")]
        #[track_caller]
        $vis fn $call<$($generics)*>($($by)? $self $(, $parameter: $Type)*) -> $Result {
            $crate::done($self.$try($($parameter),*))
        }

        #[doc = concat!("Does the same as [`", stringify!($call), "`](Self::", stringify!($call), "), but returns errors.")]
        ///
        $(#[$try_doc])*
        #[track_caller]
        $vis fn $try<$($generics)*>(
            $($by)? $self $(, $parameter: $Type)*
        ) -> Result<$Result, CallError> $body
    };
}

pub(crate) use {call, forms};
