//! Codes of all diagnostics, and the pages of the error index for `graphmap explain`.

/// Embeds the pages of `docs/src/errors`, whose file names are codes.
macro_rules! error_pages {
    ($($code:ident)*) => {
        /// Codes of all diagnostics, in ascending order.
        pub(crate) static CODES: &[u16] = &[$(number(stringify!($code))),*];

        /// Pages of the error index with their codes, in ascending order.
        #[cfg(feature = "cli")]
        pub(crate) static PAGES: &[(u16, &str)] = &[$((
            number(stringify!($code)),
            include_str!(concat!("../docs/src/errors/", stringify!($code), ".md")),
        )),*];
    };
}

/// Returns the number of a code such as `G0305`. All characters after the first must be digits.
const fn number(code: &str) -> u16 {
    let (mut number, mut digit) = (0, 1);
    while digit < code.len() {
        number = 10 * number + (code.as_bytes()[digit] - b'0') as u16;
        digit += 1;
    }
    number
}

error_pages! {
    G0001 G0002 G0003 G0004 G0005 G0006 G0007 G0008 G0009 G0010 G0011 G0012 G0013 G0014 G0015 G0016
    G0017 G0018 G0019 G0020 G0101 G0102 G0103 G0104 G0105 G0106 G0107 G0108 G0109 G0110 G0111 G0112
    G0113 G0114 G0115 G0116 G0117 G0118 G0119 G0201 G0202 G0203 G0204 G0205 G0206 G0207 G0208 G0209
    G0210 G0211 G0212 G0213 G0214 G0215 G0216 G0217 G0218 G0219 G0220 G0221 G0222 G0230 G0231 G0232
    G0233 G0234 G0235 G0236 G0237 G0238 G0239 G0240 G0241 G0242 G0243 G0244 G0245 G0246 G0247 G0248
    G0250 G0251 G0252 G0253 G0254 G0255 G0256 G0257 G0301 G0302 G0303 G0304 G0305 G0306 G0307 G0308
    G0310 G0311 G0312 G0313 G0314 G0315 G0316 G0317 G0318 G0319 G0320 G0321 G0322 G0410 G0411 G0412
    G0413 G0414 G0415 G0416 G0417 G0418 G0419 G0420 G0421 G0422 G0423 G0424 G0425 G0426 G0427 G0428
    G0429 G0430 G0431 G0432 G0433 G0434 G0436 G0437 G0438 G0439 G0440 G0441 G0444 G0445 G0446 G0447
    G0448 G0449 G0450 G0451 G0452 G0453 G0454 G0455 G0456 G0457 G0458 G0459 G0460 G0461 G0462 G0463
    G0464 G0465 G0466 G0467 G0470 G0471 G0472 G0473 G0474 G0475 G0476 G0477 G0478 G0501 G0502 G0503
    G0504 G0506 G0507 G0508 G0510 G0511 G0512 G0513 G0514 G0601 G0602 G0603 G0604 G0605 G0606 G0607
    G0608 G0609 G0610 G0612 G0613 G0614 G0615 G0616 G0617 G0618 G0619 G0620 G0701 G0702 G0703 G0704
    G0705 G0706 G0707 G0708 G0709 G0710 G0711 G0712 G0713 G0714 G0715 G0716 G0717 G0718 G0801 G0802
    G0803 G0804 G0805 G0806 G0807 G0808 G0809 G0810 G0811 G0812 G0813 G0901 G0902 G0903 G0904 G0905
    G0906 G0907 G0908 G0909 G0910 G0911 G0912
}
