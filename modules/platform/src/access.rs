//! Users, ports, interfaces and bindings of hosts, and the values that launch files can contain.

use graphmap_kpn::hardware::Access;

/// A property by which a launcher reaches a host or binds OS processes on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    User,
    Port,
    Interface,
    Binding,
}

impl Key {
    /// Returns the name of the property for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Key::User => "user",
            Key::Port => "port",
            Key::Interface => "interface",
            Key::Binding => "binding",
        }
    }

    /// Returns true if `value` can be written into any launch file without quotes. A port must be a
    /// number from 1 to 65535. Any other value must not be empty, must not start with `-`, and may
    /// contain only ASCII letters, digits, `-`, `.`, `_` and a few signs that depend on the
    /// property.
    pub(crate) fn accepts(self, value: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let all = |more: &str| value.chars().all(|c| plain(c) || more.contains(c));
        let starts = !value.is_empty() && !value.starts_with('-');
        match self {
            Key::User => starts && all("+"),
            Key::Port => value.parse::<u16>().is_ok_and(|port| port > 0),
            Key::Interface => starts && all(":"),
            Key::Binding => starts && all(":,+="),
        }
    }

    /// Returns a sentence for messages that describes the allowed values.
    pub(crate) fn allowed_values(self) -> &'static str {
        match self {
            Key::User => "a user is made of letters, digits, `-`, `.`, `_` and `+`",
            Key::Port => "a port is a number from 1 to 65535",
            Key::Interface => "an interface is made of letters, digits, `-`, `.`, `_` and `:`",
            Key::Binding => "a binding is a word such as `core:2` or `user:0,1`",
        }
    }
}

/// Returns the first property whose value cannot be written into a launch file, in the order user,
/// port, interface, binding. Returns `None` if there is none. A missing value is valid.
pub(crate) fn invalid_key(access: &Access) -> Option<Key> {
    let fits = |key: Key, value: &Option<String>| value.as_ref().is_none_or(|v| key.accepts(v));
    let all = [
        (Key::User, fits(Key::User, &access.user)),
        (Key::Port, access.port != Some(0)),
        (Key::Interface, fits(Key::Interface, &access.interface)),
        (Key::Binding, fits(Key::Binding, &access.binding)),
    ];
    all.into_iter().find(|(_, fits)| !fits).map(|(key, _)| key)
}
