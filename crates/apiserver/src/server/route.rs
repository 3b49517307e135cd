//! A URL path as the thing it names.

use crate::status::Failure;

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`
    GroupVersion(String, String),
    /// A collection, an object or something below one.
    Resource(Place),
    /// `/openapi/v2`
    OpenApiV2,
    /// `/openapi/v3`, `/openapi/v3/apis/apps/v1`
    OpenApiV3(String),
    /// `/version`
    Version,
    /// `/readyz`, `/livez`, `/healthz` and the checks below them
    Health(String),
}

/// A place in the REST tree of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Empty for core.
    pub group: String,
    /// `v1`
    pub version: String,
    /// `deployments`
    pub plural: String,
    /// From the path; none for cluster scope and for all namespaces.
    pub namespace: Option<String>,
    /// None for the collection.
    pub name: Option<String>,
    /// `status`, `scale`; empty for the object itself.
    pub subresource: String,
    /// Old `/watch/` paths.
    pub watch: bool,
}

/// Reads a path, already percent-decoded by segment.
pub fn parse(path: &str) -> Result<Target, Failure> {
    let segments: Vec<String> =
        path.split('/').filter(|s| !s.is_empty()).map(percent_decode).collect();
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["api"] => Ok(Target::CoreVersions),
        ["apis"] => Ok(Target::Groups),
        ["api", version, rest @ ..] => place("", version, rest),
        ["apis", group] => Ok(Target::Group((*group).to_owned())),
        ["apis", group, version, rest @ ..] => place(group, version, rest),
        ["openapi", "v2"] => Ok(Target::OpenApiV2),
        ["openapi", "v3", rest @ ..] => Ok(Target::OpenApiV3(rest.join("/"))),
        ["version"] => Ok(Target::Version),
        ["readyz" | "livez" | "healthz", rest @ ..] => Ok(Target::Health(rest.join("/"))),
        _ => Err(Failure::page_not_found()),
    }
}

fn place(group: &str, version: &str, rest: &[&str]) -> Result<Target, Failure> {
    let mut place =
        Place { group: group.to_owned(), version: version.to_owned(), ..Place::default() };
    let rest = match rest {
        ["watch", rest @ ..] => {
            place.watch = true;
            rest
        }
        rest => rest,
    };
    let rest = match rest {
        [] => return Ok(Target::GroupVersion(group.to_owned(), version.to_owned())),
        ["namespaces"] | ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => rest,
        ["namespaces", namespace, rest @ ..] => {
            place.namespace = Some((*namespace).to_owned());
            rest
        }
        rest => rest,
    };
    match rest {
        [plural] => place.plural = (*plural).to_owned(),
        [plural, name] => {
            place.plural = (*plural).to_owned();
            place.name = Some((*name).to_owned());
        }
        [plural, name, subresource] => {
            place.plural = (*plural).to_owned();
            place.name = Some((*name).to_owned());
            place.subresource = (*subresource).to_owned();
        }
        _ => return Err(Failure::unknown_resource()),
    }
    Ok(Target::Resource(place))
}

/// Percent-decoding of one path segment or query value (`+` stays itself).
pub fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |b: u8| (b as char).to_digit(16);
        match (bytes[at], bytes.get(at + 1), bytes.get(at + 2)) {
            (b'%', Some(&high), Some(&low)) => match (hex(high), hex(low)) {
                (Some(high), Some(low)) => {
                    out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                    at += 3;
                }
                _ => {
                    out.push(b'%');
                    at += 1;
                }
            },
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> Place {
        match parse(path).unwrap() {
            Target::Resource(place) => place,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_name_collections_objects_and_subresources() {
        let place = resource("/apis/apps/v1/namespaces/t/deployments/d/scale");
        assert_eq!(place.group, "apps");
        assert_eq!(place.namespace.as_deref(), Some("t"));
        assert_eq!(place.name.as_deref(), Some("d"));
        assert_eq!(place.subresource, "scale");
        assert_eq!(resource("/api/v1/pods").name, None);
        assert!(resource("/api/v1/watch/namespaces/t/pods").watch);
    }

    #[test]
    fn a_namespace_is_an_object_too() {
        let place = resource("/api/v1/namespaces/t");
        assert_eq!((place.plural.as_str(), place.name.as_deref()), ("namespaces", Some("t")));
        assert_eq!(resource("/api/v1/namespaces/t/finalize").subresource, "finalize");
        assert_eq!(resource("/api/v1/namespaces/t/status").plural, "namespaces");
    }

    #[test]
    fn segments_are_decoded_after_splitting() {
        assert_eq!(resource("/api/v1/namespaces/t/pods/a%2Fb").name.as_deref(), Some("a/b"));
        assert_eq!(percent_decode("100%"), "100%");
    }
}
