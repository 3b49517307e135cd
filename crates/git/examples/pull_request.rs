//! Opens a pull request on a real forge, changes it, comments on it and finds it again: how the recorded
//! conversations are compared with a forge of today.
//!
//! `cargo run -p holdfast-git --example pull_request -- gitea URL HEAD BASE < TOKEN`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::io::Read as _;
use std::sync::Arc;

use holdfast_git::auth::{Access, Secret};
use holdfast_git::forge::{Address, Credential, Forge, Proposal, Provider, Web};
use holdfast_git::transport::{Limits, Network};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [provider, url, head, base] = arguments.as_slice() else {
        return Err("gitea|github|gitlab URL HEAD BASE, and the token on standard input".into());
    };
    let provider = match provider.as_str() {
        "gitea" => Provider::Gitea,
        "github" => Provider::GitHub,
        "gitlab" => Provider::GitLab,
        other => return Err(format!("{other} is not gitea, github or gitlab").into()),
    };
    let mut token = String::new();
    std::io::stdin().read_to_string(&mut token)?;
    let address = Address::new(provider, url, None)?;
    let web = Web::new(Network::start()?, &Access::default(), Limits::default())?;
    let credential = Credential::Token(Secret::new(token.trim()));
    #[expect(clippy::disallowed_methods, reason = "a program asks for the time once, here")]
    let forge = Forge::new(address, credential, web, Arc::new(jiff::Timestamp::now));

    let proposal = |body: &str| Proposal {
        head: head.clone(),
        base: base.clone(),
        title: "A change by Holdfast".to_owned(),
        body: body.to_owned(),
    };
    println!("opened:  {:?}", forge.open(&proposal("First."))?);
    let pull = forge.open(&proposal("Second."))?;
    println!("changed: {pull:?}");
    forge.comment(pull.number, "example", "Seen.")?;
    forge.comment(pull.number, "example", "Seen.")?;
    println!("found:   {:?}", forge.find(head, base)?);
    println!("closed:  {:?}", forge.close(pull.number)?);
    Ok(())
}
