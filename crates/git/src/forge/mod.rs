//! Pull requests on Gitea, Forgejo, GitHub and GitLab.
