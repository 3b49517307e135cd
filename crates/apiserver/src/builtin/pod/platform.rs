//! What depends on the operating system under a pod.

use serde_json::Value;

use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

/// All containers with their paths, in the order in which they are visited.
pub fn containers<'a>(spec: &'a Value, field: &Path) -> Vec<(&'a Value, Path)> {
    let mut all = Vec::new();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for (index, container) in spec.list(list).iter().enumerate() {
            all.push((container, field.child(list).index(index)));
        }
    }
    all
}

/// Windows host processes are all or none.
pub fn host_process(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let asked = |holder: &Value| {
        holder.get_or_null("securityContext").get_or_null("windowsOptions").flag_opt("hostProcess")
    };
    let of_pod = asked(spec);
    let all = containers(spec, field);
    let mut count = 0;
    for (container, at) in &all {
        let own = asked(container);
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            wrong.push(FieldError::invalid(
                &at.child("securityContext").child("windowsOptions").child("hostProcess"),
                &Value::from(own),
                format!(
                    "pod hostProcess value must be identical if both are specified, was {of_pod}"
                ),
            ));
        }
        count += usize::from(own.or(of_pod).unwrap_or_default());
    }
    if count == 0 {
        return wrong;
    }
    if count != all.len() {
        wrong.push(FieldError::invalid(
            field,
            &Value::from(""),
            "If pod contains any hostProcess containers then all containers must be HostProcess containers",
        ));
    }
    if !spec.flag("hostNetwork") {
        wrong.push(FieldError::invalid(
            &field.child("hostNetwork"),
            &Value::from(false),
            "hostNetwork must be true if pod contains any hostProcess containers",
        ));
    }
    wrong
}

/// A pod with users of its own shares nothing with the host.
pub fn host_users(spec: &Value, field: &Path) -> Vec<FieldError> {
    const WHEN: &str = "when `hostUsers` is false";
    let mut wrong = Vec::new();
    if spec.flag_opt("hostUsers") != Some(false) {
        return wrong;
    }
    for (key, said) in
        [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
    {
        if spec.flag(key) {
            wrong.push(FieldError::forbidden(&field.child(said), WHEN));
        }
    }
    for (container, at) in containers(spec, field) {
        if !container.list("volumeDevices").is_empty() {
            wrong.push(FieldError::forbidden(&at.child("volumeDevices"), WHEN));
        }
    }
    wrong
}

/// Checks `os` and what the named system does not have.
pub fn operating_system(spec: &Value, field: &Path) -> Vec<FieldError> {
    let Some(system) = spec.part("os") else { return Vec::new() };
    let at = field.child("os");
    match system.text("name") {
        "" => vec![FieldError::required(&at.child("name"), "")],
        "linux" => linux(spec, field),
        "windows" => windows(spec, field),
        other => {
            vec![FieldError::not_supported(&at, &Value::from(other), &["linux", "windows"])]
        }
    }
}

fn linux(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut holders = vec![(spec, field.clone())];
    holders.extend(containers(spec, field));
    holders
        .into_iter()
        .filter(|(holder, _)| {
            holder.get_or_null("securityContext").part("windowsOptions").is_some()
        })
        .map(|(_, at)| {
            FieldError::forbidden(
                &at.child("securityContext").child("windowsOptions"),
                "windows options cannot be set for a linux pod",
            )
        })
        .collect()
}

fn windows(spec: &Value, field: &Path) -> Vec<FieldError> {
    const CANNOT: &str = "cannot be set for a windows pod";
    // `^` marks fields of the spec itself; the order is that of the messages.
    const OF_POD: [&str; 15] = [
        "appArmorProfile",
        "seLinuxOptions",
        "^hostUsers",
        "^hostPID",
        "^hostIPC",
        "seccompProfile",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "^shareProcessNamespace",
        "runAsUser",
        "runAsGroup",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "seLinuxChangePolicy",
    ];
    const OF_CONTAINER: [&str; 10] = [
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    let mut wrong = Vec::new();
    let context = spec.get_or_null("securityContext");
    for key in OF_POD {
        let (holder, key, at) = match key.strip_prefix('^') {
            Some(key) => (spec, key, field.clone()),
            None => (context, key, field.child("securityContext")),
        };
        let set = match key {
            "hostPID" | "hostIPC" => holder.flag(key),
            "sysctls" => !holder.list(key).is_empty(),
            _ => holder.part(key).is_some(),
        };
        if set {
            wrong.push(FieldError::forbidden(&at.child(key), CANNOT));
        }
    }
    for (container, at) in containers(spec, field) {
        let context = container.get_or_null("securityContext");
        for key in OF_CONTAINER {
            if context.part(key).is_some() {
                wrong.push(FieldError::forbidden(&at.child("securityContext").child(key), CANNOT));
            }
        }
    }
    wrong
}
