//! The expressions of policies: what they may mention, and running them on a request.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value as Json, json};

use super::Attributes;
use super::authorizer::{self, Asker};
use super::matching::Match;
use crate::cel::{EvalError, Object, Program, Scope, Type, Value};
use crate::rbac::Snapshot;

/// What an expression must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// `true` or `false`.
    Bool,
    /// A sentence.
    String,
    /// A sentence or nothing.
    StringOrNull,
    /// Anything.
    Any,
    /// `Object{…}`
    Object,
    /// `[JSONPatch{…}]`
    Patch,
}

impl Wanted {
    fn accepts(self, of: &Type) -> Result<(), String> {
        let got = shown(of);
        let one = |wanted: &str| {
            if got == wanted {
                Ok(())
            } else {
                Err(format!("must evaluate to {wanted} but got {got}"))
            }
        };
        match self {
            Self::Any => Ok(()),
            Self::Bool => one("bool"),
            Self::String => one("string"),
            Self::Object => one("Object"),
            Self::Patch => one("list(JSONPatch)"),
            Self::StringOrNull if matches!(got.as_str(), "string" | "null_type") => Ok(()),
            Self::StringOrNull => {
                Err(format!("must evaluate to one of [string null_type] but got {got}"))
            }
        }
    }
}

/// The type as results are reported, which differs from how mismatches are.
fn shown(of: &Type) -> String {
    match of {
        Type::Null => "null_type".into(),
        Type::Timestamp => "google.protobuf.Timestamp".into(),
        Type::Duration => "google.protobuf.Duration".into(),
        Type::Type => "type(dyn)".into(),
        Type::List(item) => format!("list({})", shown(item)),
        Type::Map(key, value) => format!("map({}, {})", shown(key), shown(value)),
        Type::Optional(inner) => format!("optional_type({})", shown(inner)),
        plain => plain.to_string(),
    }
}

/// The names that expressions of one policy may use; grows with its variables.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// Whether `params` exists.
    pub params: bool,
    /// The variables so far, if expressions may mention them.
    pub variables: Option<BTreeMap<Arc<str>, Type>>,
}

/// Which of the optional names an expression sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sees {
    /// Everything but the authorizer: messages.
    NoAuthorizer,
    /// Everything: conditions.
    All,
    /// Everything and the types of mutations.
    Mutation,
}

impl Names {
    fn scope(&self, sees: Sees) -> Scope {
        let mut scope = Scope::new()
            .with("object", Type::Dyn)
            .with("oldObject", Type::Dyn)
            .with("namespaceObject", namespace_type())
            .with("request", request_type());
        if self.params {
            scope = scope.with("params", Type::Dyn);
        }
        if sees != Sees::NoAuthorizer {
            scope = scope.with("authorizer", authorizer::declared());
        }
        if let Some(variables) = &self.variables {
            let fields = variables.iter().map(|(name, of)| (name.clone(), of.clone()));
            scope = scope.with("variables", Type::object("kubernetes.variables", fields));
        }
        if sees == Sees::Mutation {
            let texts = ["op", "path", "from"].map(|field| (field, Type::String));
            scope = scope.with_message("Object").with_message_of("JSONPatch", texts);
        }
        scope
    }

    /// Parses and checks an expression. The error is what a refused policy shows as detail.
    pub fn compile(&self, text: &str, sees: Sees, wanted: Wanted) -> Result<Program, String> {
        let program = Program::compile(text, &self.scope(sees))
            .map_err(|error| format!("compilation failed: {error}"))?;
        wanted.accepts(program.result())?;
        Ok(program)
    }

    /// Compiles a variable and makes it known to the expressions after it.
    pub fn declare(&mut self, name: &str, text: &str) -> Result<Program, String> {
        let program = self.compile(text, Sees::All, Wanted::Any);
        let of = match &program {
            Ok(program) => known(program.result()),
            Err(_) => Type::Dyn,
        };
        self.variables.get_or_insert_default().insert(name.into(), of);
        program
    }
}

/// What later expressions know of a variable: objects and opaque things are forgotten.
fn known(of: &Type) -> Type {
    match of {
        Type::List(item) => Type::list(known(item)),
        Type::Map(key, value) => Type::Map(Arc::new(known(key)), Arc::new(known(value))),
        Type::Object(_) | Type::Opaque(_) | Type::Optional(_) | Type::Type | Type::Param(_) => {
            Type::Dyn
        }
        plain => plain.clone(),
    }
}

fn request_type() -> Type {
    let text = || Type::String;
    let kind = || {
        let fields = [("group", text()), ("version", text()), ("kind", text())];
        Type::object("kubernetes.GroupVersionKind", fields)
    };
    let resource = || {
        let fields = [("group", text()), ("version", text()), ("resource", text())];
        Type::object("kubernetes.GroupVersionResource", fields)
    };
    let user = Type::object(
        "kubernetes.UserInfo",
        [
            ("username", text()),
            ("uid", text()),
            ("groups", Type::list(text())),
            ("extra", Type::map(Type::list(text()))),
        ],
    );
    Type::object(
        "kubernetes.AdmissionRequest",
        [
            ("kind", kind()),
            ("resource", resource()),
            ("subResource", text()),
            ("requestKind", kind()),
            ("requestResource", resource()),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}

fn namespace_type() -> Type {
    let text = || Type::String;
    let condition = Type::object(
        "kubernetes.NamespaceCondition",
        [
            ("status", text()),
            ("type", text()),
            ("lastTransitionTime", Type::Timestamp),
            ("message", text()),
            ("reason", text()),
        ],
    );
    let metadata = Type::object(
        "kubernetes.NamespaceMetadata",
        [
            ("name", text()),
            ("generateName", text()),
            ("namespace", text()),
            ("labels", Type::map(text())),
            ("annotations", Type::map(text())),
            // The server declares the field in capitals; the value has it in small letters.
            ("UID", text()),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", text()),
            ("finalizers", Type::list(text())),
        ],
    );
    let spec = Type::object("kubernetes.NamespaceSpec", [("finalizers", Type::list(text()))]);
    let status = Type::object(
        "kubernetes.NamespaceStatus",
        [("conditions", Type::list(condition)), ("phase", text())],
    );
    Type::object(
        "kubernetes.Namespace",
        [("metadata", metadata), ("spec", spec), ("status", status)],
    )
}

/// An expression with the program it became, or why it became none.
#[derive(Debug)]
pub(super) struct Expression {
    /// As written.
    pub text: String,
    /// The program.
    pub program: Result<Program, String>,
}

impl Expression {
    /// Runs the expression; the error is what a denial shows.
    pub fn run(&self, inputs: &Inputs) -> Result<Value, String> {
        match &self.program {
            Err(why) => Err(format!("compilation error: {why}")),
            Ok(program) => program
                .eval(&inputs.given())
                .map_err(|why| format!("expression '{}' resulted in error: {why}", self.text)),
        }
    }
}

/// The values behind the names, for one request and one parameter object.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    object: Value,
    old: Value,
    request: Value,
    namespace: Value,
    params: Value,
    authorizer: Value,
    variables: Value,
}

impl Inputs {
    /// Everything a request says by itself. `roles` is needed only by expressions that ask the authorizer.
    pub fn new(
        attributes: &Attributes<'_>,
        matched: &Match,
        object: Option<&Json>,
        old: Option<&Json>,
        roles: Option<Arc<Snapshot>>,
    ) -> Self {
        let value = |json: Option<&Json>| json.map_or(Value::Null, Value::of_json);
        let authorizer = roles
            .map_or(Value::Null, |roles| Value::Object(Arc::new(Asker::new(attributes, roles))));
        Self {
            object: value(object),
            old: value(old),
            request: Value::of_json(&request(attributes, matched)),
            namespace: Value::Null,
            params: Value::Null,
            authorizer,
            variables: Value::Null,
        }
    }

    /// The same with another object, after a mutation.
    #[must_use]
    pub fn with_object(mut self, object: &Json) -> Self {
        self.object = Value::of_json(object);
        self
    }

    /// The same with the request's namespace.
    #[must_use]
    pub fn with_namespace(mut self, namespace: Option<&Json>) -> Self {
        self.namespace = namespace.map_or(Value::Null, |namespace| {
            let part = |key: &str| namespace.get(key).cloned().unwrap_or_else(|| json!({}));
            let mut metadata = part("metadata");
            if let Some(map) = metadata.as_object_mut() {
                map.remove("managedFields");
                map.remove("ownerReferences");
            }
            Value::of_json(
                &json!({ "metadata": metadata, "spec": part("spec"), "status": part("status") }),
            )
        });
        self
    }

    /// The same with a parameter object.
    #[must_use]
    pub fn with_params(mut self, params: Option<&Json>) -> Self {
        self.params = params.map_or(Value::Null, Value::of_json);
        self
    }

    /// The same with a policy's variables, which are computed when first used.
    #[must_use]
    pub fn with_variables(mut self, variables: &Arc<[Variable]>) -> Self {
        if !variables.is_empty() {
            self.variables = Value::Null;
            let lazy =
                Lazy { inputs: self.clone(), variables: variables.clone(), done: Mutex::default() };
            self.variables = Value::Object(Arc::new(Variables(Arc::new(lazy))));
        }
        self
    }

    fn given(&self) -> [(&'static str, Value); 7] {
        [
            ("object", self.object.clone()),
            ("oldObject", self.old.clone()),
            ("request", self.request.clone()),
            ("namespaceObject", self.namespace.clone()),
            ("params", self.params.clone()),
            ("authorizer", self.authorizer.clone()),
            ("variables", self.variables.clone()),
        ]
    }
}

/// A named expression of a policy.
#[derive(Debug)]
pub(super) struct Variable {
    /// Its name under `variables`.
    pub name: Arc<str>,
    /// What it is.
    pub expression: Expression,
}

/// `variables`: each is computed once, when something asks for it.
#[derive(Debug, Clone)]
struct Variables(Arc<Lazy>);

struct Lazy {
    inputs: Inputs,
    variables: Arc<[Variable]>,
    done: Mutex<BTreeMap<Arc<str>, Result<Value, EvalError>>>,
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variables")
    }
}

impl Object for Variables {
    fn type_name(&self) -> &'static str {
        "kubernetes.variables"
    }

    fn field(&self, name: &str) -> Option<Result<Value, EvalError>> {
        let lazy = &self.0;
        let variable = lazy.variables.iter().find(|variable| *variable.name == *name)?;
        let done = || lazy.done.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = done().get(name) {
            return Some(known.clone());
        }
        let mut inputs = lazy.inputs.clone();
        inputs.variables = Value::Object(Arc::new(self.clone()));
        let value = match &variable.expression.program {
            Err(why) => {
                Err(EvalError::new(format!("composited variable {name:?} fails to compile: {why}")))
            }
            Ok(program) => program.eval(&inputs.given()).map_err(|why| {
                EvalError::new(format!("composited variable {name:?} fails to evaluate: {why}"))
            }),
        };
        done().insert(variable.name.clone(), value.clone());
        Some(value)
    }
}

/// `request`: the admission request without its objects; empty parts are absent.
fn request(attributes: &Attributes<'_>, matched: &Match) -> Json {
    let kind = |kind: &super::Kind| json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
    let resource = |(group, version, resource): &(String, String, String)| json!({ "group": group, "version": version, "resource": resource });
    let own = attributes.resource;
    let mut request = json!({
        "uid": "",
        "kind": kind(&matched.kind),
        "resource": resource(&matched.resource),
        "requestKind": kind(&attributes.kind()),
        "requestResource": {
            "group": own.group, "version": own.version, "resource": own.plural,
        },
        "operation": attributes.operation.as_str(),
        "userInfo": attributes.user.info(),
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    });
    for (key, text) in [
        ("subResource", attributes.subresource),
        ("requestSubResource", attributes.subresource),
        ("name", attributes.name),
        ("namespace", attributes.scope()),
    ] {
        if !text.is_empty() {
            request[key] = text.into();
        }
    }
    request
}
