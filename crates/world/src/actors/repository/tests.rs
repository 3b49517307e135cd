use super::*;

fn place(objects: &Objects, password: &str) -> Place {
    Place {
        objects: objects.clone(),
        bucket: "backups".into(),
        prefix: "shop".into(),
        credentials: Credentials::default(),
        password: password.into(),
    }
}

fn origin() -> Origin {
    Origin { host: "volsync".into(), user: String::new(), path: "/data".into() }
}

fn at(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}

fn disk(files: &[(&str, &str)]) -> Disk {
    let mut disk = Disk::empty(1 << 30);
    for (path, content) in files {
        disk.files.insert((*path).into(), content.as_bytes().to_vec());
    }
    disk
}

fn made(objects: &Objects) -> Repository {
    objects.make_bucket("backups", None);
    Repository::init(place(objects, "pw"), at("2026-01-01T00:00:00Z")).unwrap()
}

#[test]
fn a_backup_comes_back_as_of_its_time() {
    let objects = Objects::default();
    let repository = made(&objects);
    let keep = |files: &[(&str, &str)], time: &str| {
        repository.backup(&disk(files), &origin(), BTreeMap::new(), at(time)).unwrap()
    };
    let (first, _) = keep(&[("a", "1"), ("b", "2")], "2026-01-01T01:00:00Z");
    let (_, second) = keep(&[("a", "1"), ("c", "333")], "2026-01-01T02:00:00Z");
    assert_eq!(second.parent, Some(first));
    assert_eq!((second.summary.files_new, second.summary.files_unmodified), (1, 1));
    assert_eq!((second.summary.data_added, second.summary.total_bytes_processed), (3, 4));
    let chosen = |as_of: Option<&str>, previous| {
        repository.select(&origin(), as_of.map(at), previous).unwrap().map(|(_, s)| s.time)
    };
    assert_eq!(chosen(None, 0), Some(at("2026-01-01T02:00:00Z")));
    assert_eq!(chosen(None, 1), Some(at("2026-01-01T01:00:00Z")));
    assert_eq!(chosen(Some("2026-01-01T01:30:00Z"), 0), Some(at("2026-01-01T01:00:00Z")));
    assert_eq!(chosen(Some("2026-01-01T00:30:00Z"), 0), None);
    let stranger = Origin { host: "other".into(), ..origin() };
    assert_eq!(repository.select(&stranger, None, 0).unwrap(), None);

    let mut target = disk(&[("old", "x")]);
    repository.restore(&second, &mut target, false).unwrap();
    assert_eq!(target, disk(&[("a", "1"), ("c", "333"), ("old", "x")]), "a mixture");
    repository.restore(&second, &mut target, true).unwrap();
    assert_eq!(target.digest(), second.digest);
}

#[test]
fn errors_tell_missing_from_locked_from_wrong_password() {
    let objects = Objects::default();
    let refused = |password: &str| Repository::open(place(&objects, password)).unwrap_err();
    assert!(matches!(refused("pw"), RepositoryError::Store(_, ObjectError::NoSuchBucket)));
    objects.make_bucket("backups", None);
    assert_eq!(refused("pw").exit(), 10);
    let repository = made(&objects);
    assert_eq!(refused("other").exit(), 12);
    assert_eq!(Repository::open(place(&objects, "pw")).unwrap().id(), repository.id());

    let now = at("2026-01-01T01:00:00Z");
    repository.lock("pod-1", false, now).unwrap();
    repository.backup(&disk(&[("a", "1")]), &origin(), BTreeMap::new(), now).unwrap();
    let retention = Retention { last: 1, ..Retention::default() };
    let locked = repository.forget(&origin(), &retention, now).unwrap_err();
    assert_eq!(locked.exit(), 11, "a shared lock stops forgetting, not backing up");
    assert_eq!(repository.unlock("pod-2", at("2026-01-01T01:29:00Z")).unwrap(), 0);
    assert_eq!(repository.unlock("pod-2", at("2026-01-01T01:31:00Z")).unwrap(), 1);
    repository.forget(&origin(), &retention, now).unwrap();

    objects.delete(&Credentials::default(), "backups", "shop/config").unwrap();
    assert_eq!(refused("pw").exit(), 10);
    let remains = Repository::init(place(&objects, "pw"), now).unwrap_err();
    assert!(matches!(remains, RepositoryError::Remains(_)));
}

#[test]
fn retention_keeps_the_newest_of_each_period() {
    let times: Vec<jiff::Timestamp> = (0..48)
        .map(|hour| at("2026-01-01T00:30:00Z") + jiff::SignedDuration::from_hours(hour))
        .collect();
    let now = at("2026-01-03T00:00:00Z");
    let kept =
        |retention: Retention| retention.keeps(&times, now).into_iter().collect::<Vec<usize>>();
    assert_eq!(kept(Retention { last: 2, ..Retention::default() }), [46, 47]);
    assert_eq!(kept(Retention { daily: 7, ..Retention::default() }), [23, 47]);
    assert_eq!(kept(Retention { hourly: 2, daily: 2, ..Retention::default() }), [23, 46, 47]);
    assert_eq!(kept(Retention { within: 5399, ..Retention::default() }), [47]);
    assert!(kept(Retention::default()).is_empty());
}

#[test]
fn forgetting_frees_nothing_until_pruned_and_pins_stay() {
    let objects = Objects::default();
    let repository = made(&objects);
    let keep = |content: &str, time: &str| {
        repository.backup(&disk(&[("a", content)]), &origin(), BTreeMap::new(), at(time)).unwrap()
    };
    let (first, _) = keep("1", "2026-01-01T01:00:00Z");
    keep("2", "2026-01-01T02:00:00Z");
    keep("3", "2026-01-01T03:00:00Z");
    let now = at("2026-01-01T04:00:00Z");
    let pinned = repository.pin(&first, true, now).unwrap();
    assert_ne!(pinned, first, "a pin rewrites the snapshot");
    let retention = Retention { last: 1, ..Retention::default() };
    assert_eq!(repository.forget(&origin(), &retention, now).unwrap().len(), 1);
    assert_eq!(repository.snapshots().unwrap().len(), 2);
    let blobs = || objects.list(&Credentials::default(), "backups", "shop/data/").unwrap().len();
    assert_eq!(blobs(), 3);
    assert_eq!(repository.prune().unwrap(), 1);
    assert_eq!(blobs(), 2);
    assert_eq!(repository.check().unwrap(), Vec::<String>::new());
    let lost = objects.list(&Credentials::default(), "backups", "shop/data/").unwrap();
    objects.delete(&Credentials::default(), "backups", &lost[0].key).unwrap();
    assert_eq!(repository.check().unwrap().len(), 1);
}
