//! `serve` answers links whose process has ended, and tells other processes that it serves.

use gambrel_server::{is_served, listen};

use crate::fixture::{
    ServerFixture, free_port, new_ticket, open_ticket, path_of, server_config, wait_until,
};
use crate::http_client::TestRequest;
use crate::test_process::TestProcess;

#[test]
fn takes_over_the_ports_of_open_links() {
    let root = tempfile::tempdir().unwrap();
    let config = server_config(root.path());
    let (page_port, link_port) = (free_port(), free_port());
    let mut asking = TestProcess::start("listen", root.path(), link_port);
    let opened = open_ticket(&config, "left alone");
    let base = asking.base.clone();
    config
        .ledger
        .update_ticket(&opened.ticket.id, &mut |ticket| {
            (ticket.sent, ticket.base_url) = (true, base.clone());
        })
        .unwrap();
    let _serving = TestProcess::start("serve", root.path(), page_port);
    asking.kill();
    let path = path_of(&opened);
    wait_until("serve answers the link", || {
        let got = TestRequest::get(link_port, &path).try_send().ok()?;
        (got.status == 200).then_some(())
    });
    // The list is on its own port only.
    assert_eq!(TestRequest::get(link_port, "/").send().status, 404);
    assert_eq!(TestRequest::post(link_port, &path, "action=approve").send().status, 200);
    wait_until("the port is free again", || {
        TestRequest::get(link_port, "/healthz").try_send().is_err().then_some(())
    });
}

/// A tunnel leads to the usual port, also while another process holds it.
#[test]
fn takes_over_the_port_that_was_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let config = server_config(root.path());
    let port = free_port();
    let asking = listen(&config, port).unwrap();
    let serving = TestProcess::start("serve", root.path(), port);
    assert_ne!(serving.base, asking.base());
    let opened = config.ledger.open_ticket(&new_ticket("tunnel")).unwrap();
    drop(asking);
    wait_until("serve answers at that port", || {
        let got = TestRequest::get(port, &path_of(&opened)).try_send().ok()?;
        (got.status == 200).then_some(())
    });
}

#[test]
fn tells_other_processes_that_it_serves() {
    let fixture = ServerFixture::new();
    assert!(!is_served(&*fixture.config.ledger), "a listener of a run does not stay");
    let mut serving = TestProcess::start("serve", &fixture.dir, 0);
    wait_until("it is known", || is_served(&*fixture.config.ledger).then_some(()));
    serving.kill();
    wait_until("it is gone", || (!is_served(&*fixture.config.ledger)).then_some(()));
}
