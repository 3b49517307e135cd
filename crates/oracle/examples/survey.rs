use holdfast_oracle::{generate, upstream::Upstream};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
fn main() {
    let work = Path::new("/tmp/survey");
    let _ = std::fs::remove_dir_all(work);
    let n: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut qs = vec![];
    for seed in 0..n {
        let t = generate::tree(seed);
        let f = work.join(format!("{seed}"));
        t.write(&f).unwrap();
        qs.push(json!({"mode":"kustomize","root":f,"dir":f.join(&t.target),"reorder": if t.legacy_order {"legacy"} else {"none"}, "loadRestrictions": if t.stay_in_folder {"rootOnly"} else {"none"}}));
    }
    let start = std::time::Instant::now();
    let mut up = Upstream::start(Path::new("/root/.cache/holdfast-pre/bin/oracle")).unwrap();
    let answers = up.ask(qs).unwrap();
    println!("{:?}", start.elapsed());
    let mut ok = 0;
    let mut bytes = 0;
    let mut errors: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (i, a) in answers.iter().enumerate() {
        match a {
            Ok(t) => {
                ok += 1;
                bytes += t.len();
            }
            Err(e) => {
                let e = e.replace(&format!("/tmp/survey/{i}/"), "/");
                let k: String = e
                    .split("': ")
                    .last()
                    .unwrap()
                    .chars()
                    .filter(|c| !c.is_ascii_digit())
                    .take(90)
                    .collect();
                errors.entry(k.replace('\n', " ")).or_default().push(i as u64);
            }
        }
    }
    let mut v: Vec<_> = errors.into_iter().collect();
    v.sort_by_key(|(_, l)| std::cmp::Reverse(l.len()));
    println!("ok {ok} of {n}, {bytes} bytes");
    for (k, l) in v.iter().take(40) {
        println!("{:4} {:?} {k}", l.len(), &l[..l.len().min(3)]);
    }
}
