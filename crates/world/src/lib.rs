//! The ground on which Holdfast is shown to keep its promises: a simulated cluster, and the real one
//! that keeps the simulation honest.
#![forbid(unsafe_code)]

pub mod actors;
pub mod conformance;
pub mod crds;
pub mod notes;
pub mod scenario;
pub mod scenarios;
pub mod sim;
pub mod world;

#[cfg(test)]
mod smoke {
    use holdfast_apiserver::identity::User;
    use holdfast_apiserver::server::{Config, Server};
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
    use kube::{Client, ResourceExt};
    use tower::ServiceExt;

    fn client(server: &Server) -> Client {
        let service =
            server.clone().map_request(|mut request: http::Request<kube::client::Body>| {
                request.extensions_mut().insert(User::admin("test"));
                request
            });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn objects_live_and_die() {
        let server = Server::new(Config::default());
        let client = client(&server);
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let t: Namespace =
            serde_json::from_value(serde_json::json!({"metadata": {"name": "t"}})).unwrap();
        namespaces.create(&PostParams::default(), &t).await.unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(client, "t");
        let map: ConfigMap = serde_json::from_value(
            serde_json::json!({"metadata": {"name": "a"}, "data": {"k": "1"}}),
        )
        .unwrap();
        let made = maps.create(&PostParams::default(), &map).await.unwrap();
        assert!(made.uid().is_some());
        let again = maps.create(&PostParams::default(), &map).await.unwrap_err();
        assert!(matches!(again, kube::Error::Api(status) if status.reason == "AlreadyExists"));
        let applied = maps
            .patch("a", &PatchParams::apply("m").force(), &Patch::Apply(serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "2"}})))
            .await
            .unwrap();
        assert_eq!(applied.data.unwrap()["k"], "2");
        assert_eq!(maps.list(&kube::api::ListParams::default()).await.unwrap().items.len(), 1);
        maps.delete("a", &DeleteParams::default()).await.unwrap();
        assert!(maps.get_opt("a").await.unwrap().is_none());
    }
}
pub mod real;
