//! Stacks on a kernel before Linux 6.13, which does not have `MADV_GUARD_INSTALL`. Not under Miri,
//! which does not support these system calls.

#![cfg(not(miri))]

use graphmap_fiber::{Options, Stacks};
use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, c_ulong, sock_filter};
use std::future::pending;
use std::pin::Pin;
use std::task::{Context, Waker};

const GUARD_INSTALL: u32 = 102;
/// Offsets in `struct seccomp_data` (linux/seccomp.h). The supported machines are little-endian, so
/// the low half of an argument comes first.
const SYSTEM_CALL: u32 = 0;
const THIRD_ARGUMENT: u32 = 32;

/// Makes `madvise` with `MADV_GUARD_INSTALL` fail with `EINVAL` on this thread from now on.
fn forbid_guard_markers() {
    let step = |code: u32, k: u32, jf: u8| sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    let load = |offset| step(BPF_LD | BPF_W | BPF_ABS, offset, 0);
    let skip_unless_equal = |value, steps| step(BPF_JMP | BPF_JEQ | BPF_K, value, steps);
    let end = |result| step(BPF_RET | BPF_K, result, 0);
    let mut filter = [
        load(SYSTEM_CALL),
        skip_unless_equal(libc::SYS_madvise as u32, 3),
        load(THIRD_ARGUMENT),
        skip_unless_equal(GUARD_INSTALL, 1),
        end(libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32),
        end(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    let [yes, no]: [c_ulong; 2] = [1, 0];
    // SAFETY: the arguments are those of prctl(2). `program` and `filter` live during the call, and
    // the kernel copies the filter.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                c_ulong::from(libc::SECCOMP_MODE_FILTER),
                &raw const program,
            ) == 0
    };
    assert!(done, "{}", std::io::Error::last_os_error());
}

#[test]
fn stacks_are_guarded_by_mprotect_if_the_kernel_has_no_markers() {
    let on_thread = || {
        forbid_guard_markers();
        let stacks = Stacks::new(Options::new());
        let body = || graphmap_fiber::wait(pending::<()>());
        let mut fiber = stacks.fiber("rank 0", body).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut fiber).poll(&mut context).is_pending());
        let counts = stacks.counts();
        assert_eq!((counts.live, counts.protected), (1, 64));
    };
    // The filter stays until the thread ends.
    std::thread::spawn(on_thread).join().unwrap();
}
