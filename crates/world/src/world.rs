//! A world: the simulated cluster with everything around it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use tokio::time::Instant;

use holdfast_apiserver::identity::User;
use holdfast_apiserver::server::{Config, Server};

use crate::actors::forge::Forge;
use crate::actors::git::{GitHost, Remote};
use crate::actors::{Pace, Process};
use crate::sim::door::Hall;
use crate::sim::{Barrier, Door, FaultPlan, Gate, Lag, Random, Trace};

/// Where every simulated cluster's time begins: the first second of 2026.
pub const EPOCH: jiff::Timestamp = jiff::Timestamp::constant(1_767_225_600, 0);

/// The bearer token of a simulated cluster's administrator, for callers over HTTP.
pub const TOKEN: &str = "holdfast-world";

/// How long the server's own loops take to react.
const HOUSEKEEPING: Duration = Duration::from_millis(50);

/// The simulated cluster, its clock, its actors and its luck. Clones share one world.
#[derive(Clone)]
pub struct World {
    hall: Arc<Hall>,
    pace: Pace,
    forge: Forge,
}

impl World {
    /// A world under the paused clock of a simulation: all order and luck come from the seed.
    pub fn simulated(seed: u64, plan: FaultPlan) -> Self {
        Self::build(seed, plan, Barrier::seeded(seed), EPOCH)
    }

    /// A world in real time, for people: `epoch` is what its clock shows now.
    pub fn live(seed: u64, epoch: jiff::Timestamp) -> Self {
        Self::build(seed, FaultPlan::none(), Barrier::open(), epoch)
    }

    fn build(seed: u64, plan: FaultPlan, barrier: Barrier, epoch: jiff::Timestamp) -> Self {
        let start = Instant::now();
        let pace = Pace::new(epoch, start, seed, plan.slow_actors);
        let clock = pace.clone();
        let mut uids = Random::new(seed, "uids");
        let server = Server::new(Config {
            now: Arc::new(move || clock.now()),
            entropy: Box::new(move || uids.next_u64()),
            tokens: [(TOKEN.to_owned(), User::admin("admin"))].into(),
            ..Config::default()
        });
        let hall = Hall {
            server,
            barrier,
            trace: Trace::default(),
            start,
            plan,
            faults: Mutex::new(Random::new(seed, "faults")),
            latency: Mutex::new(Random::new(seed, "latency")),
        };
        let clock = pace.clone();
        let forge = Forge::at(GitHost::default(), Arc::new(move || clock.now()));
        Self { hall: Arc::new(hall), pace, forge }
    }

    /// The API server itself.
    pub fn server(&self) -> &Server {
        &self.hall.server
    }

    /// What was said.
    pub fn trace(&self) -> &Trace {
        &self.hall.trace
    }

    /// The actors' clock and knobs.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The faults of this world.
    pub fn plan(&self) -> &FaultPlan {
        &self.hall.plan
    }

    /// Virtual time since the world began.
    pub fn elapsed(&self) -> Duration {
        self.hall.start.elapsed()
    }

    /// When the world began, for clocks that run with it.
    pub fn start(&self) -> Instant {
        self.hall.start
    }

    /// The door of a named caller.
    pub fn door(&self, name: &str, user: User) -> Door {
        Door::new(self.hall.clone(), name, user)
    }

    /// A client of a named caller who may do everything.
    pub fn client(&self, name: &str) -> Client {
        Client::new(self.door(name, User::admin(name)), "default")
    }

    /// The git host beside the cluster.
    pub fn git(&self) -> &GitHost {
        self.forge.host()
    }

    /// The forge over the git host.
    pub fn forge(&self) -> &Forge {
        &self.forge
    }

    /// Git as a named caller reaches it.
    pub fn remote(&self, name: &str) -> Remote {
        Remote::new(self.git().clone(), Some(self.door(name, User::admin(name))))
    }

    /// Git as one incarnation of the operator reaches it: it may die there, and pushes have luck.
    pub fn operator_git(&self, gate: Arc<Gate>) -> Remote {
        let door = self.door("holdfast", User::admin("holdfast")).behind(gate);
        Remote::new(self.git().clone(), Some(door))
    }

    /// A client whose watches lag.
    pub fn lagging_client(&self, name: &str, lag: Lag) -> Client {
        Client::new(self.door(name, User::admin(name)).lagging(lag), "default")
    }

    /// A client for one incarnation of the operator.
    pub fn operator_client(&self, gate: Arc<Gate>) -> Client {
        let user = User::service_account("holdfast-system", "holdfast");
        let user = User {
            groups: user.groups.into_iter().chain(["system:masters".to_owned()]).collect(),
            ..user
        };
        Client::new(self.door("holdfast", user).behind(gate), "holdfast-system")
    }

    /// Runs the world's own machinery (turns, housekeeping) until dropped.
    pub async fn turn(&self) {
        let housekeeping = async {
            let server = &self.hall.server;
            loop {
                server.has_chores().await;
                tokio::time::sleep(HOUSEKEEPING).await;
                let chores = server.clone();
                self.hall.barrier.act("~housekeeping".into(), async move { chores.tidy() }).await;
            }
        };
        futures::future::join(self.hall.barrier.conduct(), housekeeping).await;
    }

    /// Serves the cluster on a listener until dropped. Who comes without a token is its administrator.
    pub async fn serve(&self, listener: tokio::net::TcpListener) -> std::io::Result<()> {
        holdfast_apiserver::http::serve(self.hall.server.clone(), listener, User::admin("admin"))
            .await
    }

    /// A kubeconfig for a served cluster.
    pub fn kubeconfig(address: std::net::SocketAddr) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: holdfast-world\nclusters:\n- name: holdfast-world\n  cluster:\n    server: http://{address}\ncontexts:\n- name: holdfast-world\n  context:\n    cluster: holdfast-world\n    user: admin\nusers:\n- name: admin\n  user:\n    token: {TOKEN}\n"
        )
    }

    /// Runs actors until dropped.
    pub async fn act(&self, cast: Vec<Process>) {
        let all = cast.into_iter().map(|process| {
            let client = self.lagging_client(process.name, self.pace.lag(process.name));
            process.run(client, self.pace.clone())
        });
        futures::future::join_all(all).await;
        // An empty cast has nothing to do, for as long as the world lives.
        std::future::pending::<()>().await;
    }
}
