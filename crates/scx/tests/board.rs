//! The metrics of a policy in Prometheus: node_exporter reads their file, and each query of the dashboard has an answer.

use hearth_scx::metrics;
use hearth_scx::protocol::Info;
use hearth_scx::statistics::Statistics;
use hearth_tests::{root, skip};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A program of PATH, or of the packages that `scripts/need prometheus` unpacks.
fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let unpacked = root().join("out/tools/prometheus/usr/bin");
    std::env::split_paths(&path).chain([unpacked]).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A server on a port of its own.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(program: &Path, arguments: &[String], log: &Path) -> Server {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("a port").to_string();
        let process = Command::new(program)
            .args(arguments)
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(fs::File::create(log).expect("a file"))
            .spawn()
            .expect("a server");
        Server { process, address }
    }

    /// The body of the answer; empty while the server does not listen.
    fn get(&self, path: &str) -> String {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned())
        };
        ask().unwrap_or_default()
    }

    fn ask(&self, api: &str, name: &str, value: &str) -> Value {
        let escaped: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        serde_json::from_str(&self.get(&format!("/api/v1/{api}?{name}={escaped}"))).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn dashboard() -> Value {
    let text = fs::read_to_string(root().join("packaging/grafana.json")).expect("the dashboard");
    serde_json::from_str(&text).expect("JSON")
}

/// The queries of the panels, with values for Grafana's variables.
fn queries() -> Vec<String> {
    let board = dashboard();
    let panels = board["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let query = |target: &Value| target["expr"].as_str().expect("a query").to_owned();
    targets.map(|target| query(target).replace("$__rate_interval", "5s").replace("$instance", ".*")).collect()
}

/// What a policy has counted after so many seconds.
fn statistics(seconds: u64) -> Statistics {
    let each = |names: [&str; 2], count: u64| names.map(|name| (name.to_owned(), count)).into();
    Statistics {
        policy: "nest".into(),
        uptime_ns: seconds * 1_000_000_000,
        cores_online: 4,
        runnable: 3,
        placements: each(["attached", "primary"], seconds * 100),
        place_runs: seconds * 200,
        place_ns: seconds * 200 * 1500,
        switches: seconds * 1000,
        idle_ns: seconds * 2_000_000_000,
        intervals: seconds * 250,
        underload: seconds * 100,
        sets: each(["primary", "reserve"], 2),
        ..Statistics::default()
    }
}

/// The value of a query's only series.
fn value(answer: &Value) -> f64 {
    let series = answer["data"]["result"].as_array().expect("series");
    assert_eq!(series.len(), 1, "{answer}");
    series[0]["value"][1].as_str().expect("a value").parse().expect("a number")
}

#[test]
#[ignore = "needs Prometheus: make test-all"]
fn each_query_of_the_dashboard_has_an_answer() {
    let (Some(exporter), Some(prometheus)) = (tool("prometheus-node-exporter"), tool("prometheus")) else {
        return skip("Prometheus is not installed (scripts/need prometheus)");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("textfiles")).expect("a folder");
    let info = Info { version: "1".into(), kernel: "7.3".into(), scope: "system".into(), ..Info::default() };
    let begun = Instant::now();
    let export = || {
        let text = metrics::text(&info, &statistics(begun.elapsed().as_secs() + 1));
        fs::write(at("new"), text).expect("a file");
        fs::rename(at("new"), at("textfiles/hearth.prom")).expect("a file");
    };
    export();
    let textfiles = format!("--collector.textfile.directory={}", at("textfiles").display());
    let collectors = ["--collector.disable-defaults".into(), "--collector.textfile".into(), textfiles];
    let exporter = Server::start(&exporter, &collectors, &at("exporter.log"));
    let config = format!(
        "scrape_configs: [{{job_name: node, scrape_interval: 1s, static_configs: [{{targets: ['{}']}}]}}]\n",
        exporter.address
    );
    fs::write(at("prometheus.yml"), config).expect("a file");
    let own = [("config.file", "prometheus.yml"), ("storage.tsdb.path", "data")];
    let own = own.map(|(flag, name)| format!("--{flag}={}", at(name).display()));
    let prometheus = Server::start(&prometheus, &own, &at("prometheus.log"));

    let queries = queries();
    assert!(queries.len() > 20, "{queries:?}");
    let answered = |query: &str| {
        let answer = prometheus.ask("query", "query", query);
        answer["data"]["result"].as_array().is_some_and(|series| !series.is_empty())
    };
    let mut open: Vec<&str> = queries.iter().map(String::as_str).collect();
    // Longer than the interval of rates, so that they are those of the counters.
    while !open.is_empty() || begun.elapsed() < Duration::from_secs(12) {
        let log = fs::read_to_string(at("prometheus.log")).unwrap_or_default();
        assert!(begun.elapsed() < Duration::from_secs(60), "no answer: {open:#?}\n{log}");
        thread::sleep(Duration::from_secs(1));
        export();
        open.retain(|query| !answered(query));
    }

    // The exporter keeps the types, which Prometheus shows to whoever writes a query.
    for (name, kind) in [("hearth_switches_total", "counter"), ("hearth_sets", "gauge")] {
        assert_eq!(prometheus.ask("metadata", "metric", name)["data"][name][0]["type"], kind);
    }
    let ask = |query: &str| value(&prometheus.ask("query", "query", query));
    assert_eq!(ask("sum(hearth_sets)"), 4.0);
    let of = |part: &str| ask(queries.iter().find(|query| query.contains(part)).expect("a query"));
    // Prometheus extrapolates rates to the ends of an interval.
    assert!((0.3..0.7).contains(&of("idle_seconds")), "{}", of("idle_seconds"));
    assert!((1.4e-6..1.6e-6).contains(&of("place_seconds")), "{}", of("place_seconds"));
    assert!((90.0..110.0).contains(&of("underload")), "{}", of("underload"));
}

/// Grafana asks for the source of data when it imports the dashboard.
#[test]
fn the_dashboard_needs_no_plugin() {
    let board = dashboard();
    let panels = board["panels"].as_array().expect("panels");
    let is_built_in = |panel: &Value| panel["type"] == "stat" || panel["type"] == "timeseries";
    assert!(panels.iter().all(is_built_in));
    assert!(panels.iter().all(|panel| panel["datasource"]["uid"] == "${datasource}"));
    let variables = board["templating"]["list"].as_array().expect("variables");
    let query = variables.iter().find(|variable| variable["name"] == "instance").expect("a variable");
    assert_eq!(query["query"]["query"], "label_values(hearth_info, instance)");
}

#[test]
fn the_dashboard_shows_metrics_that_exist() {
    let text = metrics::text(&Info::default(), &statistics(1));
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let mut count = 0;
    for query in queries() {
        for (at, _) in query.match_indices("hearth_") {
            let name = query[at..].split(ends).next().unwrap_or_default();
            assert!(text.contains(&format!("\n{name}{{")), "{name}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}
