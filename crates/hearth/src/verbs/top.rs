mod tui;

use self::tui::Reading;
use crate::failure::{Failure, Outcome};
use hearth_scx::Error;
use hearth_scx::client::Client;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Watch the policy that runs in the kernel: its sets of cores over the topology, placements by reason, rates
///
/// `q` ends it; the policy goes on.
#[derive(clap::Args)]
pub struct Args {
    /// Time between two readings, in milliseconds
    #[arg(short, long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    interval: u64,
}

impl Args {
    pub fn run(self) -> Outcome {
        let mut client = Client::of_this_machine()?;
        let first = read(&mut client)?;
        if !std::io::stdout().is_terminal() {
            let failure = Failure::usage("`hearth top` draws on a terminal, and standard output is none");
            return Err(
                failure.help("use `hearth status`, which prints; in a virtual machine: hearth vm --tty")
            );
        }
        let mut terminal = ratatui::try_init()
            .map_err(|error| Failure::new(format_args!("cannot use the terminal: {error}")))?;
        let watched = watch(&mut terminal, &mut client, first, Duration::from_millis(self.interval));
        ratatui::restore();
        watched?;
        Ok(ExitCode::SUCCESS)
    }
}

fn read(client: &mut Client) -> Result<Reading, Error> {
    Ok(Reading { info: client.info()?, statistics: client.statistics()?, cores: client.cores()?.cores })
}

fn watch(
    terminal: &mut DefaultTerminal,
    client: &mut Client,
    first: Reading,
    interval: Duration,
) -> Result<(), Failure> {
    let terminal_failed =
        |error: std::io::Error| Failure::new(format_args!("cannot use the terminal: {error}"));
    let (mut before, mut now) = (None, first);
    loop {
        terminal.draw(|frame| tui::draw(frame, before.as_ref(), &now)).map_err(terminal_failed)?;
        let until = Instant::now() + interval;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !event::poll(left).map_err(terminal_failed)? {
                break;
            }
            match event::read().map_err(terminal_failed)? {
                Event::Key(key) if ends(key) => return Ok(()),
                // Drawn anew at once.
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
