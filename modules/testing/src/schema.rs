//! JSON schemas: the part of draft 2020-12 that the schemas of graphmap use.
//!
//! A complete validator needs dozens of packages. This one panics at a keyword that it does not
//! know, so that no keyword is ignored.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A JSON schema, with the properties that the checked values had.
pub struct Schema {
    root: Value,
    used: BTreeSet<String>,
}

impl Schema {
    /// Parses a schema.
    ///
    /// # Panics
    /// If the text is not JSON.
    pub fn new(text: &str) -> Schema {
        Schema {
            root: serde_json::from_str(text).expect("a schema is JSON"),
            used: BTreeSet::new(),
        }
    }

    /// Checks a value against the schema.
    ///
    /// # Errors
    /// Returns a description of the first error if the value is not valid.
    ///
    /// # Panics
    /// If the schema has a keyword, a pattern or a reference that is not known here.
    pub fn check(&mut self, value: &Value) -> Result<(), String> {
        let mut used = BTreeSet::new();
        fits(&self.root, (&self.root, "#"), value, "$", &mut used)?;
        self.used.append(&mut used);
        Ok(())
    }

    /// Returns the properties of the schema that no valid value had.
    pub fn unused(&self) -> Vec<String> {
        let mut all = BTreeSet::new();
        properties(&self.root, "#", &mut all);
        all.difference(&self.used).cloned().collect()
    }
}

/// Collects the properties of a schema, each as a path in the schema.
fn properties(schema: &Value, at: &str, all: &mut BTreeSet<String>) {
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}/properties/{name}");
        properties(inner, &at, all);
        all.insert(at);
    }
    for (name, inner) in schema["$defs"].as_object().into_iter().flatten() {
        properties(inner, &format!("{at}/$defs/{name}"), all);
    }
    if let Some(items) = schema.get("items") {
        properties(items, &format!("{at}/items"), all);
    }
}

/// Checks the value at `path` against `schema.0`, the part of `root` at `schema.1`. Adds the
/// properties of the value to `used`.
fn fits(
    root: &Value,
    schema: (&Value, &str),
    value: &Value,
    path: &str,
    used: &mut BTreeSet<String>,
) -> Result<(), String> {
    let (schema, at) = schema;
    let empty = Map::new();
    let object = value.as_object().unwrap_or(&empty);
    let array = value.as_array();
    let fail = |what: String| Err(format!("{path}: {what}, at {at}"));
    for (keyword, says) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" => {}
            "$ref" => {
                let name = says.as_str().expect("a reference is a text");
                let to = root
                    .pointer(&name[1..])
                    .expect("a reference leads to a schema");
                fits(root, (to, name), value, path, used)?;
            }
            "const" if says != value => return fail(format!("{value} is not {says}")),
            "enum" if !says.as_array().is_some_and(|all| all.contains(value)) => {
                return fail(format!("{value} is not one of {says}"));
            }
            "const" | "enum" => {}
            "type" if !types(says).any(|of| is_of(value, of)) => {
                return fail(format!("{value} is not of type {says}"));
            }
            "type" => {}
            "pattern" if value.as_str().is_some_and(|text| !matches(says, text)) => {
                return fail(format!("{value} does not match {says}"));
            }
            "pattern" => {}
            "maxLength"
                if value
                    .as_str()
                    .is_some_and(|v| over(says, v.chars().count())) =>
            {
                return fail(format!("{value} is too long"));
            }
            "maxItems" if array.is_some_and(|all| over(says, all.len())) => {
                return fail("has too many items".to_owned());
            }
            "minItems" if array.is_some_and(|all| (all.len() as u64) < whole(says)) => {
                return fail("has too few items".to_owned());
            }
            "minimum" if value.as_f64().is_some_and(|v| v < real(says)) => {
                return fail(format!("{value} is less than {says}"));
            }
            "maximum" if value.as_f64().is_some_and(|v| v > real(says)) => {
                return fail(format!("{value} is more than {says}"));
            }
            "maxLength" | "maxItems" | "minItems" | "minimum" | "maximum" => {}
            "required" if value.is_object() => {
                if let Some(name) = texts(says).find(|name| !object.contains_key(*name)) {
                    return fail(format!("lacks `{name}`"));
                }
            }
            "dependentRequired" => {
                for (name, needs) in says.as_object().expect("an object") {
                    let lacks = texts(needs).find(|need| !object.contains_key(*need));
                    if let Some(need) = lacks.filter(|_| object.contains_key(name)) {
                        return fail(format!("has `{name}` and lacks `{need}`"));
                    }
                }
            }
            "additionalProperties" => {
                let known = |name: &str| schema["properties"].get(name).is_some();
                let others = object.iter().filter(|(name, _)| !known(name));
                for (name, inner) in others {
                    if says.is_boolean() {
                        assert_eq!(says, &Value::Bool(false), "{at}");
                        return fail(format!("`{name}` is unknown"));
                    }
                    let at = format!("{at}/additionalProperties");
                    fits(root, (says, &at), inner, &format!("{path}.{name}"), used)?;
                }
            }
            "properties" => {
                for (name, inner) in object {
                    let Some(of) = says.get(name) else {
                        continue;
                    };
                    let at = format!("{at}/properties/{name}");
                    fits(root, (of, &at), inner, &format!("{path}.{name}"), used)?;
                    used.insert(at);
                }
            }
            "items" => {
                let at = format!("{at}/items");
                for (i, inner) in array.into_iter().flatten().enumerate() {
                    fits(root, (says, &at), inner, &format!("{path}[{i}]"), used)?;
                }
            }
            "oneOf" => {
                let (mut fitting, mut wrong) = (0, Vec::new());
                for one in says.as_array().expect("a list of schemas") {
                    let mut here = BTreeSet::new();
                    match fits(root, (one, at), value, path, &mut here) {
                        Ok(()) => {
                            fitting += 1;
                            used.append(&mut here);
                        }
                        Err(why) => wrong.push(why),
                    }
                }
                if fitting != 1 {
                    return fail(format!("{fitting} of several fit: {}", wrong.join("; ")));
                }
            }
            "required" => {}
            other => panic!("`{other}` of {at} is not known here"),
        }
    }
    Ok(())
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    let list = list.as_array().expect("a list of texts");
    list.iter().map(|text| text.as_str().expect("a text"))
}

fn types(says: &Value) -> impl Iterator<Item = &str> {
    let one = says.as_str();
    let several = says.as_array().into_iter().flatten();
    one.into_iter().chain(several.filter_map(Value::as_str))
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|v| v.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("`{other}` is not a type"),
    }
}

fn whole(says: &Value) -> u64 {
    says.as_u64().expect("a whole number")
}

fn real(says: &Value) -> f64 {
    says.as_f64().expect("a number")
}

fn over(says: &Value, length: usize) -> bool {
    length as u64 > whole(says)
}

/// Returns whether a text matches a regular expression. Supports only the expressions that the
/// schemas use.
fn matches(pattern: &Value, text: &str) -> bool {
    match pattern.as_str() {
        Some("^[0-9a-f]{16}$") => {
            text.len() == 16 && text.bytes().all(|b| b"0123456789abcdef".contains(&b))
        }
        Some("^[A-Za-z0-9_][-A-Za-z0-9_.]*$") => {
            let is_in = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
            !text.is_empty() && !text.starts_with(['-', '.']) && text.bytes().all(is_in)
        }
        _ => panic!("match the pattern {pattern} here"),
    }
}
