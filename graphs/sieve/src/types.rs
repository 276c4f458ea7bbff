//! Types of the tokens on the channels. This network uses plain numbers only.
