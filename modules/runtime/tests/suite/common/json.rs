//! Strict JSON reader (RFC 8259).

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Parses a text.
    ///
    /// # Panics
    ///
    /// If the text is not JSON.
    pub fn parse(text: &str) -> Json {
        let mut reader = Reader {
            text: text.as_bytes(),
            at: 0,
        };
        let json = reader.value();
        reader.space();
        assert_eq!(reader.at, text.len(), "something comes after the end");
        json
    }

    /// Returns a member of an object.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    #[track_caller]
    pub fn get(&self, name: &str) -> &Json {
        self.find(name)
            .unwrap_or_else(|| panic!("no `{name}`: {self:?}"))
    }

    pub fn find(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.get(name),
            _ => None,
        }
    }

    #[track_caller]
    pub fn number(&self) -> f64 {
        match self {
            Json::Number(number) => *number,
            other => panic!("no number: {other:?}"),
        }
    }

    #[track_caller]
    pub fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    #[track_caller]
    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(list) => list,
            other => panic!("no list: {other:?}"),
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn expect(&mut self, wanted: &str) {
        let found = self.text.get(self.at..self.at + wanted.len());
        assert_eq!(found, Some(wanted.as_bytes()), "at byte {}", self.at);
        self.at += wanted.len();
    }

    /// Reads the members between two brackets, which commas separate.
    fn members(&mut self, open: &str, close: u8, mut member: impl FnMut(&mut Self)) {
        self.expect(open);
        self.space();
        if self.peek() != close {
            loop {
                member(self);
                self.space();
                if self.peek() == close {
                    break;
                }
                self.expect(",");
                self.space();
            }
        }
        self.at += 1;
    }

    fn value(&mut self) -> Json {
        self.space();
        match self.peek() {
            b'{' => {
                let mut object = BTreeMap::new();
                self.members("{", b'}', |reader| {
                    let name = reader.string();
                    reader.space();
                    reader.expect(":");
                    let value = reader.value();
                    let old = object.insert(name, value);
                    assert_eq!(old, None, "a name is used twice");
                });
                Json::Object(object)
            }
            b'[' => {
                let mut list = Vec::new();
                self.members("[", b']', |reader| list.push(reader.value()));
                Json::List(list)
            }
            b'"' => Json::Text(self.string()),
            b't' => {
                self.expect("true");
                Json::Bool(true)
            }
            b'f' => {
                self.expect("false");
                Json::Bool(false)
            }
            b'n' => {
                self.expect("null");
                Json::Null
            }
            _ => {
                let start = self.at;
                while matches!(self.peek(), b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
                    self.at += 1;
                }
                let number = std::str::from_utf8(&self.text[start..self.at]).unwrap();
                let digits = number.trim_start_matches('-').as_bytes();
                let plain = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
                assert!(!plain && !number.ends_with('.'), "{number}");
                let parsed = number.parse();
                Json::Number(parsed.unwrap_or_else(|_| panic!("`{number}` at byte {start}")))
            }
        }
    }

    fn string(&mut self) -> String {
        self.expect("\"");
        let mut bytes = Vec::new();
        loop {
            let byte = self.peek();
            assert!(byte >= 0x20, "a control character at byte {}", self.at);
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(bytes).unwrap(),
                b'\\' => {
                    let escape = self.peek();
                    self.at += 1;
                    match escape {
                        b'"' | b'\\' | b'/' => bytes.push(escape),
                        b'n' => bytes.push(b'\n'),
                        b't' => bytes.push(b'\t'),
                        b'u' => {
                            let digits = std::str::from_utf8(&self.text[self.at..self.at + 4]);
                            let code = u32::from_str_radix(digits.unwrap(), 16).unwrap();
                            let c = char::from_u32(code).unwrap();
                            bytes.extend(c.to_string().bytes());
                            self.at += 4;
                        }
                        other => panic!("escape {other}"),
                    }
                }
                byte => bytes.push(byte),
            }
        }
    }
}
