mod tui;

use self::tui::Reading;
use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::output;
use hearth_scx::Error;
use hearth_scx::client::Client;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Watch the policy that runs in the kernel
///
/// Shows the policy's sets of cores on the topology, the placements by reason, and rates of its other events.
/// Press q to quit; the policy continues.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth top",
    "hearth top --interval 1000",
]))]
pub struct Args {
    /// Time between two readings, in milliseconds: 50 to 60000
    #[arg(short, long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    interval: u64,
}

impl Args {
    pub fn run(self) -> Outcome {
        let mut client = Client::of_this_machine()?;
        let first = read(&mut client)?;
        if !std::io::stdout().is_terminal() || output::is_dumb_terminal() {
            let failure =
                Failure::usage("`hearth top` needs a terminal that can move the cursor as standard output");
            return Err(failure.help("print with `hearth status`; in a virtual machine: hearth vm --tty"));
        }
        let mut terminal = ratatui::try_init().map_err(terminal_failed)?;
        let watched = watch(&mut terminal, &mut client, first, Duration::from_millis(self.interval));
        ratatui::restore();
        watched?;
        Ok(ExitCode::SUCCESS)
    }
}

fn terminal_failed(error: std::io::Error) -> Failure {
    Failure::new(format_args!("cannot use the terminal: {error}"))
}

fn read(client: &mut Client) -> Result<Reading, Error> {
    Ok(Reading { info: client.info()?, statistics: client.statistics()?, cores: client.cores()?.cores })
}

/// Draws a reading every `interval`, and after a resize, until a key ends it.
fn watch(
    terminal: &mut DefaultTerminal,
    client: &mut Client,
    mut now: Reading,
    interval: Duration,
) -> Result<(), Failure> {
    let mut before = None;
    loop {
        let until = Instant::now() + interval;
        terminal.draw(|frame| tui::draw(frame, before.as_ref(), &now)).map_err(terminal_failed)?;
        while event::poll(until.saturating_duration_since(Instant::now())).map_err(terminal_failed)? {
            match event::read().map_err(terminal_failed)? {
                Event::Key(key) if ends(key) => return Ok(()),
                Event::Resize(..) => {
                    terminal
                        .draw(|frame| tui::draw(frame, before.as_ref(), &now))
                        .map_err(terminal_failed)?;
                }
                _ => {}
            }
        }
        let next = read(client)?;
        before = Some(std::mem::replace(&mut now, next));
    }
}

fn ends(key: KeyEvent) -> bool {
    let control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press && (control_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}
