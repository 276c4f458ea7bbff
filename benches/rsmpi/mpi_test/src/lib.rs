//! `#[mpi_test]` as in the crate of this name, for ranks as coroutines: the test that `mpiexec` would start is a rank here.

use proc_macro::{TokenStream, TokenTree};

#[proc_macro_attribute]
pub fn mpi_test(_counts: TokenStream, test: TokenStream) -> TokenStream {
    let mut test: Vec<TokenTree> = test.into_iter().collect();
    let body = test.pop().expect("a function has a body");
    // The libtest of each OS process comes here again, so each prints its result, as each rank does over MPI.
    let entered = format!(
        "{{
            let ranks = ::std::env::var(\"RANKS\").unwrap().parse().unwrap();
            assert!(::mpi::main(ranks, || {body}) == ::std::process::ExitCode::SUCCESS);
        }}"
    );
    let attributes: TokenStream = "#[test] #[ignore = \"for MPI\"]".parse().unwrap();
    let entered: TokenStream = entered.parse().unwrap();
    attributes.into_iter().chain(test).chain(entered).collect()
}
