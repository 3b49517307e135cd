//! Paths into an object and what may be wrong at one.

use std::fmt;

use serde_json::{Value, json};

/// A path as validation messages print it: `spec.containers[0].image`, `data[key]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Path(String);

impl Path {
    /// The empty path (prints as nothing).
    pub fn root() -> Self {
        Self::default()
    }

    /// A path from its printed form.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// `self.name`
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// `self[index]`
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// `self[key]`
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The printed form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong, in the API server's classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// `Required value`
    Required,
    /// `Invalid value: …`
    Invalid,
    /// `Unsupported value: …: supported values: …`
    NotSupported,
    /// `Forbidden`
    Forbidden,
    /// `Duplicate value: …`
    Duplicate,
    /// `Too long: may not be more than N bytes`
    TooLong,
    /// `Too many: N: must have at most M items`
    TooMany,
    /// `Not found: …`
    NotFound,
    /// A value of the wrong type for its schema; prints like `Invalid value`.
    Type,
    /// `Internal error: …`
    Internal,
}

impl Wrong {
    fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
            Self::Type => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::Type => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::Duplicate => "Duplicate value",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }
}

/// One thing wrong with one field: a cause of a 422.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The class of the error.
    pub wrong: Wrong,
    /// Where.
    pub field: String,
    /// The offending value as it is printed (already JSON or Go text), if the class prints one.
    pub shown: Option<String>,
    /// What is wrong with it; may be empty.
    pub detail: String,
}

impl FieldError {
    /// `field: Required value[: detail]`
    pub fn required(field: &Path, detail: impl Into<String>) -> Self {
        Self { wrong: Wrong::Required, field: field.0.clone(), shown: None, detail: detail.into() }
    }

    /// `field: Forbidden: detail`
    pub fn forbidden(field: &Path, detail: impl Into<String>) -> Self {
        Self { wrong: Wrong::Forbidden, field: field.0.clone(), shown: None, detail: detail.into() }
    }

    /// `field: Invalid value: <value as JSON>: detail`
    pub fn invalid(field: &Path, value: &Value, detail: impl Into<String>) -> Self {
        Self::invalid_shown(field, value.to_string(), detail)
    }

    /// Like [`FieldError::invalid`] with the value printed by the caller.
    pub fn invalid_shown(field: &Path, shown: String, detail: impl Into<String>) -> Self {
        Self {
            wrong: Wrong::Invalid,
            field: field.0.clone(),
            shown: Some(shown),
            detail: detail.into(),
        }
    }

    /// `field: Unsupported value: "x": supported values: "A", "B"`
    pub fn not_supported(field: &Path, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        let detail = if list.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", list.join(", "))
        };
        Self {
            wrong: Wrong::NotSupported,
            field: field.0.clone(),
            shown: Some(value.to_string()),
            detail,
        }
    }

    /// `field: Duplicate value: <value>`
    pub fn duplicate(field: &Path, value: &Value) -> Self {
        Self {
            wrong: Wrong::Duplicate,
            field: field.0.clone(),
            shown: Some(value.to_string()),
            detail: String::new(),
        }
    }

    /// `field: Too long: may not be more than N bytes`
    pub fn too_long(field: &Path, limit: usize) -> Self {
        Self {
            wrong: Wrong::TooLong,
            field: field.0.clone(),
            shown: None,
            detail: format!("may not be more than {limit} bytes"),
        }
    }

    /// `field: Too many: N: must have at most M items`
    pub fn too_many(field: &Path, count: usize, limit: usize) -> Self {
        Self {
            wrong: Wrong::TooMany,
            field: field.0.clone(),
            shown: Some(count.to_string()),
            detail: format!("must have at most {limit} items"),
        }
    }

    /// `field: Not found: <value>`
    pub fn not_found(field: &Path, value: &Value) -> Self {
        Self {
            wrong: Wrong::NotFound,
            field: field.0.clone(),
            shown: Some(value.to_string()),
            detail: String::new(),
        }
    }

    /// The text without the field, as it stands in a cause.
    pub fn message(&self) -> String {
        let mut text = self.wrong.title().to_owned();
        if let Some(shown) = &self.shown {
            text.push_str(": ");
            text.push_str(shown);
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    /// The entry in `details.causes`.
    pub fn cause(&self) -> Value {
        json!({ "reason": self.wrong.reason(), "message": self.message(), "field": self.field })
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}
