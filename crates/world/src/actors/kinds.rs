//! The kinds that actors watch and write.

use kube::api::ApiResource;

fn kind(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        },
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

macro_rules! kinds {
    ($($name:ident: $group:literal $version:literal $kind:literal $plural:literal;)*) => {
        $(
            #[doc = concat!("`", $kind, "`")]
            pub fn $name() -> ApiResource {
                kind($group, $version, $kind, $plural)
            }
        )*
    };
}

kinds! {
    namespaces: "" "v1" "Namespace" "namespaces";
    nodes: "" "v1" "Node" "nodes";
    pods: "" "v1" "Pod" "pods";
    configmaps: "" "v1" "ConfigMap" "configmaps";
    secrets: "" "v1" "Secret" "secrets";
    services: "" "v1" "Service" "services";
    events: "" "v1" "Event" "events";
    claims: "" "v1" "PersistentVolumeClaim" "persistentvolumeclaims";
    volumes: "" "v1" "PersistentVolume" "persistentvolumes";
    storage_classes: "storage.k8s.io" "v1" "StorageClass" "storageclasses";
    deployments: "apps" "v1" "Deployment" "deployments";
    replica_sets: "apps" "v1" "ReplicaSet" "replicasets";
    stateful_sets: "apps" "v1" "StatefulSet" "statefulsets";
    daemon_sets: "apps" "v1" "DaemonSet" "daemonsets";
    controller_revisions: "apps" "v1" "ControllerRevision" "controllerrevisions";
    jobs: "batch" "v1" "Job" "jobs";
    cron_jobs: "batch" "v1" "CronJob" "cronjobs";
    autoscalers: "autoscaling" "v2" "HorizontalPodAutoscaler" "horizontalpodautoscalers";
    disruption_budgets: "policy" "v1" "PodDisruptionBudget" "poddisruptionbudgets";
    snapshots: "snapshot.storage.k8s.io" "v1" "VolumeSnapshot" "volumesnapshots";
    snapshot_contents: "snapshot.storage.k8s.io" "v1" "VolumeSnapshotContent" "volumesnapshotcontents";
    snapshot_classes: "snapshot.storage.k8s.io" "v1" "VolumeSnapshotClass" "volumesnapshotclasses";
    group_snapshots: "groupsnapshot.storage.k8s.io" "v1beta1" "VolumeGroupSnapshot" "volumegroupsnapshots";
    group_snapshot_contents: "groupsnapshot.storage.k8s.io" "v1beta1" "VolumeGroupSnapshotContent" "volumegroupsnapshotcontents";
    group_snapshot_classes: "groupsnapshot.storage.k8s.io" "v1beta1" "VolumeGroupSnapshotClass" "volumegroupsnapshotclasses";
    git_repositories: "source.toolkit.fluxcd.io" "v1" "GitRepository" "gitrepositories";
    helm_charts: "source.toolkit.fluxcd.io" "v1" "HelmChart" "helmcharts";
    kustomizations: "kustomize.toolkit.fluxcd.io" "v1" "Kustomization" "kustomizations";
    service_accounts: "" "v1" "ServiceAccount" "serviceaccounts";
    replication_sources: "volsync.backube" "v1alpha1" "ReplicationSource" "replicationsources";
    replication_destinations: "volsync.backube" "v1alpha1" "ReplicationDestination" "replicationdestinations";
    kopia_repositories: "kopiur.home-operations.com" "v1alpha1" "Repository" "repositories";
    kopia_cluster_repositories: "kopiur.home-operations.com" "v1alpha1" "ClusterRepository" "clusterrepositories";
    kopia_policies: "kopiur.home-operations.com" "v1alpha1" "SnapshotPolicy" "snapshotpolicies";
    kopia_schedules: "kopiur.home-operations.com" "v1alpha1" "SnapshotSchedule" "snapshotschedules";
    kopia_snapshots: "kopiur.home-operations.com" "v1alpha1" "Snapshot" "snapshots";
    kopia_restores: "kopiur.home-operations.com" "v1alpha1" "Restore" "restores";
    resource_sets: "fluxcd.controlplane.io" "v1" "ResourceSet" "resourcesets";
    input_providers: "fluxcd.controlplane.io" "v1" "ResourceSetInputProvider" "resourcesetinputproviders";
    helm_releases: "helm.toolkit.fluxcd.io" "v2" "HelmRelease" "helmreleases";
}
