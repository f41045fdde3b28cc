mod programs;
mod tui;

use self::programs::Sampler;
use self::tui::{Reading, View};
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
/// Shows each core with its load and the policy's set that it is in, the placements by reason, rates of other
/// events, and the programs that run. Many cores fold into a grid. Press ? for keys and columns, q to quit; the
/// policy continues.
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
        let mut sampler = Sampler::new();
        let first = read(&mut client, &mut sampler)?;
        if !std::io::stdout().is_terminal() || output::is_dumb_terminal() {
            let failure =
                Failure::usage("`hearth top` needs a terminal that can move the cursor as standard output");
            return Err(failure.help("print with `hearth status`; in a virtual machine: hearth vm --tty"));
        }
        let mut terminal = ratatui::try_init().map_err(terminal_failed)?;
        let interval = Duration::from_millis(self.interval);
        let watched = watch(&mut terminal, first, interval, || Ok(read(&mut client, &mut sampler)?));
        ratatui::restore();
        watched?;
        Ok(ExitCode::SUCCESS)
    }
}

fn terminal_failed(error: std::io::Error) -> Failure {
    Failure::new(format_args!("cannot use the terminal: {error}"))
}

fn read(client: &mut Client, sampler: &mut Sampler) -> Result<Reading, Error> {
    Ok(Reading {
        info: client.info()?,
        statistics: client.statistics()?,
        cores: client.cores()?.cores,
        sample: sampler.sample(),
    })
}

/// Draws a reading every `interval`, and after a key or a resize, until a key ends it.
fn watch(
    terminal: &mut DefaultTerminal,
    mut now: Reading,
    interval: Duration,
    mut read: impl FnMut() -> Result<Reading, Failure>,
) -> Result<(), Failure> {
    let mut view = View { colours: output::has_colours(&std::io::stdout()), ..View::default() };
    let mut before = None;
    loop {
        let until = Instant::now() + interval;
        loop {
            terminal.draw(|frame| tui::draw(frame, &view, before.as_ref(), &now)).map_err(terminal_failed)?;
            if !event::poll(until.saturating_duration_since(Instant::now())).map_err(terminal_failed)? {
                break;
            }
            match event::read().map_err(terminal_failed)? {
                Event::Key(key) if key.kind != KeyEventKind::Press => {}
                Event::Key(KeyEvent { code: KeyCode::Esc, .. }) if view.help => view.help = false,
                Event::Key(key) if ends(key) => return Ok(()),
                Event::Key(KeyEvent { code: KeyCode::Char('?'), .. }) => view.help = !view.help,
                Event::Key(KeyEvent { code: KeyCode::Tab, .. }) => view.panel += 1,
                _ => {}
            }
        }
        let next = read()?;
        before = Some(std::mem::replace(&mut now, next));
    }
}

fn ends(key: KeyEvent) -> bool {
    let control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    control_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}
