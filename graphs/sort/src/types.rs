//! What travels over the channels: nothing but plain numbers.
