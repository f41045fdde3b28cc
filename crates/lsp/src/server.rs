//! The loop of the server, and its answers.

use crate::jobs::{self, Finding, Kind, Plan, Settled};
use crate::lenses::Lenses;
use crate::rpc::{
    Failed, INVALID_PARAMS, INVALID_REQUEST, Incoming, METHOD_NOT_FOUND, NOT_INITIALIZED, Output,
    REQUEST_FAILED, read,
};
use crate::workspace::{Analysed, Overlay, Workspace};
use crate::{completion, diagnostics, highlight, hover, rename, symbols, uri};
use hearth_ipanema::{Compiled, SourceId, builtin, syntax};
use lsp_types::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, to_value};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What the server waits for.
enum Event {
    Message(Incoming),
    /// The client sends nothing more.
    End(io::Result<()>),
    Job {
        name: String,
        kind: Kind,
        number: u64,
        report: Report,
    },
}

enum Report {
    Progress(String),
    Done(Finding),
}

#[derive(PartialEq)]
enum Phase {
    Uninitialized,
    Running,
    ShutDown,
    /// True if the client asked for a shutdown before.
    Exit(bool),
}

/// Answers the messages of a client until it says `exit`, or its stream ends. True if it asked for a shutdown before.
///
/// # Errors
/// A stream fails, or what the client sends has no length.
pub fn serve(mut input: impl BufRead + Send + 'static, output: impl Write) -> io::Result<bool> {
    let (sender, events) = channel();
    let to_server = sender.clone();
    thread::spawn(move || {
        let end = loop {
            match read(&mut input) {
                Ok(Some(message)) => {
                    if to_server.send(Event::Message(message)).is_err() {
                        break Ok(());
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let _ = to_server.send(Event::End(end));
    });
    let mut server = Server::new(sender, output);
    let result = server.run(&events);
    server.lenses.stop_all();
    result
}

struct Server<W> {
    output: Output<W>,
    /// Where jobs report.
    jobs: Sender<Event>,
    workspace: Workspace,
    lenses: Lenses,
    settled: Settled,
    /// Documents whose diagnostics are to be published.
    changed: BTreeSet<String>,
    phase: Phase,
    /// The client reads lenses again when it is asked to.
    refreshes: bool,
    /// Requests to the client so far.
    requests: u64,
}

type Answer = Result<Value, Failed>;

impl<W: Write> Server<W> {
    fn new(jobs: Sender<Event>, output: W) -> Self {
        Server {
            output: Output(output),
            jobs,
            workspace: Workspace::default(),
            lenses: Lenses::default(),
            settled: Settled::default(),
            changed: BTreeSet::new(),
            phase: Phase::Uninitialized,
            refreshes: false,
            requests: 0,
        }
    }

    fn run(&mut self, events: &Receiver<Event>) -> io::Result<bool> {
        loop {
            // Diagnostics wait until the client pauses: of several changes in a row, only the last one counts.
            let event = match events.try_recv() {
                Ok(event) => event,
                Err(_) if !self.changed.is_empty() => {
                    self.publish()?;
                    continue;
                }
                Err(_) => match events.recv() {
                    Ok(event) => event,
                    Err(_) => return Ok(false),
                },
            };
            match event {
                Event::Message(message) => self.message(message)?,
                Event::End(result) => return result.map(|()| false),
                Event::Job { name, kind, number, report } => self.report(&name, kind, number, report)?,
            }
            if let Phase::Exit(clean) = self.phase {
                return Ok(clean);
            }
        }
    }

    fn message(&mut self, message: Incoming) -> io::Result<()> {
        match message {
            Incoming::Answer => Ok(()),
            Incoming::Invalid(failed) => self.output.answer(Value::Null, Err(failed)),
            Incoming::Notification { method, params } => self.notification(&method, params),
            Incoming::Request { id, method, params } => {
                let answer = match (&self.phase, method.as_str()) {
                    (Phase::Uninitialized, "initialize") => self.initialize(params),
                    (Phase::Uninitialized, _) => Err(Failed::new(NOT_INITIALIZED, "expected `initialize`")),
                    (Phase::Running, "shutdown") => {
                        self.phase = Phase::ShutDown;
                        Ok(Value::Null)
                    }
                    (Phase::Running, _) => self.request(&method, params),
                    _ => Err(Failed::new(INVALID_REQUEST, "after `shutdown`, expected `exit`")),
                };
                self.output.answer(id, answer)?;
                // The lens of a started job says so.
                if method == "workspace/executeCommand" { self.refresh() } else { Ok(()) }
            }
        }
    }

    fn initialize(&mut self, params: Value) -> Answer {
        #[allow(deprecated)]
        let InitializeParams { root_uri, capabilities, workspace_folders, initialization_options, .. } =
            parsed(params)?;
        if let Some(options) = initialization_options.filter(|options| !options.is_null()) {
            self.settled = parsed(options)?;
        }
        let lenses = capabilities.workspace.and_then(|workspace| workspace.code_lens);
        self.refreshes = lenses.and_then(|lenses| lenses.refresh_support).unwrap_or(false);
        let folders = workspace_folders.unwrap_or_default().into_iter().map(|folder| folder.uri);
        let folders = folders.chain(root_uri).map(|folder| PathBuf::from(uri::name(&folder)));
        self.workspace.folders = folders.collect();
        self.phase = Phase::Running;
        Ok(json!({
            "capabilities": capabilities_of_server(),
            "serverInfo": { "name": "hearth", "version": env!("CARGO_PKG_VERSION") },
        }))
    }

    // ---- documents ----------------------------------------------------------------------------

    /// Notifications with wrong parameters, and unknown ones, have no effect: nobody waits for an answer.
    fn notification(&mut self, method: &str, params: Value) -> io::Result<()> {
        match (&self.phase, method) {
            (phase, "exit") => self.phase = Phase::Exit(*phase == Phase::ShutDown),
            (Phase::Running, "textDocument/didOpen") => {
                let Ok(DidOpenTextDocumentParams { text_document: new }) = parsed(params) else {
                    return Ok(());
                };
                let name = uri::name(&new.uri);
                self.text_changes(&name)?;
                self.changed.insert(self.workspace.open(new.uri, new.version, new.text));
            }
            (Phase::Running, "textDocument/didChange") => {
                let Ok(DidChangeTextDocumentParams { text_document, content_changes }) = parsed(params)
                else {
                    return Ok(());
                };
                let name = uri::name(&text_document.uri);
                self.text_changes(&name)?;
                self.workspace.change(&name, text_document.version, content_changes);
            }
            (Phase::Running, "textDocument/didClose") => {
                let Ok(DidCloseTextDocumentParams { text_document }) = parsed(params) else { return Ok(()) };
                let name = uri::name(&text_document.uri);
                self.text_changes(&name)?;
                self.workspace.close(&name);
                self.lenses.close(&name);
                self.changed.remove(&name);
                let nothing = PublishDiagnosticsParams::new(text_document.uri, Vec::new(), None);
                self.output.notify("textDocument/publishDiagnostics", nothing)?;
            }
            (Phase::Running, "workspace/didChangeWatchedFiles") => {
                let Ok(DidChangeWatchedFilesParams { changes }) = parsed(params) else { return Ok(()) };
                for change in changes {
                    let name = uri::name(&change.uri);
                    // The text of an open document is the editor's.
                    if !self.workspace.documents.contains_key(&name) {
                        self.text_changes(&name)?;
                        self.workspace.forget(&name);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes that a text is about to change: of this document, or of one that it extends.
    fn text_changes(&mut self, name: &str) -> io::Result<()> {
        let mut lenses = false;
        for document in self.workspace.dependents(name) {
            lenses |= self.lenses.changed(&document);
            self.changed.insert(document);
        }
        if lenses { self.refresh() } else { Ok(()) }
    }

    fn publish(&mut self) -> io::Result<()> {
        for name in std::mem::take(&mut self.changed) {
            let Some(analysed) = self.workspace.analysed(&name) else { continue };
            let Some(document) = self.workspace.documents.get(&name) else { continue };
            let mut found = diagnostics::diagnostics(&self.workspace, &analysed);
            found.extend(self.lenses.remarks(&name, &analysed));
            let params = PublishDiagnosticsParams::new(document.uri.clone(), found, Some(document.version));
            self.output.notify("textDocument/publishDiagnostics", params)?;
        }
        Ok(())
    }

    // ---- requests -----------------------------------------------------------------------------

    fn request(&mut self, method: &str, params: Value) -> Answer {
        match method {
            "textDocument/hover" => {
                let HoverParams { text_document_position_params: at, .. } = parsed(params)?;
                let (_, analysed, offset) = self.place(&at)?;
                answer(hover::hover(&analysed, offset).map(|(span, value)| Hover {
                    contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
                    range: analysed.range(span),
                }))
            }
            "textDocument/definition" => {
                let GotoDefinitionParams { text_document_position_params: at, .. } = parsed(params)?;
                let (_, analysed, offset) = self.place(&at)?;
                let span = hover::definition(&analysed, offset);
                answer(span.and_then(|span| self.workspace.location(&analysed, span)))
            }
            "textDocument/prepareRename" => {
                let (_, analysed, offset) = self.place(&parsed(params)?)?;
                let (span, _) = rename::prepare(&analysed, offset).map_err(refused)?;
                answer(analysed.range(span))
            }
            "textDocument/rename" => {
                let RenameParams { text_document_position: at, new_name, .. } = parsed(params)?;
                let (name, analysed, offset) = self.place(&at)?;
                let edits = rename::rename(&self.workspace, &name, &analysed, offset, &new_name);
                let edits = edits.map_err(refused)?;
                let changes: BTreeMap<&str, _> =
                    edits.iter().map(|(uri, edits)| (uri.as_str(), edits)).collect();
                answer(json!({ "changes": changes }))
            }
            "textDocument/references" => {
                let ReferenceParams { text_document_position: at, context, .. } = parsed(params)?;
                let (name, analysed, offset) = self.place(&at)?;
                answer(rename::references(
                    &self.workspace,
                    &name,
                    &analysed,
                    offset,
                    context.include_declaration,
                ))
            }
            "textDocument/documentHighlight" => {
                let at: TextDocumentPositionParams = parsed(params)?;
                let (name, analysed, offset) = self.place(&at)?;
                let found =
                    rename::references(&self.workspace, &name, &analysed, offset, true).unwrap_or_default();
                let here = found.into_iter().filter(|location| location.uri == at.text_document.uri);
                answer(
                    here.map(|location| DocumentHighlight { range: location.range, kind: None })
                        .collect::<Vec<_>>(),
                )
            }
            "textDocument/formatting" => {
                let DocumentFormattingParams { text_document, .. } = parsed(params)?;
                let (_, analysed) = self.document(&text_document.uri)?;
                answer(format(&analysed))
            }
            "textDocument/documentSymbol" => {
                let DocumentSymbolParams { text_document, .. } = parsed(params)?;
                let (_, analysed) = self.document(&text_document.uri)?;
                answer(symbols::symbols(&analysed))
            }
            "textDocument/completion" => {
                let CompletionParams { text_document_position: at, .. } = parsed(params)?;
                let (_, analysed, offset) = self.place(&at)?;
                answer(completion::completions(&analysed, offset))
            }
            "textDocument/semanticTokens/full" => {
                let SemanticTokensParams { text_document, .. } = parsed(params)?;
                let (_, analysed) = self.document(&text_document.uri)?;
                answer(SemanticTokens { result_id: None, data: highlight::tokens(&analysed) })
            }
            "textDocument/codeLens" => {
                let CodeLensParams { text_document, .. } = parsed(params)?;
                let (name, analysed) = self.document(&text_document.uri)?;
                answer(self.lenses.lenses(&name, &text_document.uri, &analysed))
            }
            "workspace/executeCommand" => {
                let ExecuteCommandParams { command, arguments, .. } = parsed(params)?;
                self.execute(&command, arguments)
            }
            _ => Err(Failed::new(METHOD_NOT_FOUND, format!("this server has no `{method}`"))),
        }
    }

    fn document(&self, uri: &Uri) -> Result<(String, Rc<Analysed>), Failed> {
        let name = uri::name(uri);
        let analysed = self.workspace.analysed(&name);
        let analysed = analysed.ok_or_else(|| Failed::new(REQUEST_FAILED, format!("{name} is not open")))?;
        Ok((name, analysed))
    }

    fn place(&self, at: &TextDocumentPositionParams) -> Result<(String, Rc<Analysed>, usize), Failed> {
        let (name, analysed) = self.document(&at.text_document.uri)?;
        let offset = analysed.text(Analysed::ROOT).map_or(0, |text| text.offset(at.position));
        Ok((name, analysed, offset))
    }

    // ---- jobs ---------------------------------------------------------------------------------

    fn execute(&mut self, command: &str, mut arguments: Vec<Value>) -> Answer {
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.command() == command) else {
            return Err(Failed::new(INVALID_PARAMS, format!("there is no command `{command}`")));
        };
        if arguments.len() != 1 {
            return Err(Failed::new(INVALID_PARAMS, format!("`{command}` takes the URI of a document")));
        }
        let (name, analysed) = self.document(&parsed(arguments.remove(0))?)?;
        let plan =
            self.plan(&analysed).ok_or_else(|| refused("the policy has errors: correct them first"))?;
        let (number, stop) = self.lenses.start(&name, kind);
        let jobs = self.jobs.clone();
        let report = move |report| {
            // Without a server, nobody wants the result.
            let _ = jobs.send(Event::Job { name: name.clone(), kind, number, report });
        };
        thread::spawn(move || {
            let progress = |title| report(Report::Progress(title));
            let finding = jobs::run(kind, plan, Arc::clone(&stop), &progress);
            report(Report::Done(finding));
        });
        Ok(Value::Null)
    }

    /// The policy and its base, or the baseline of all policies if the base is no whole policy. `None`: it has errors.
    fn plan(&self, analysed: &Analysed) -> Option<Plan> {
        let policy = compiled(analysed)?;
        let base = analysed.analysis.chain[1..].iter().find(|policy| policy.slot.is_none());
        let file = base.map(|base| analysed.name(base.span.source)).filter(|base| uri::is_file(base));
        let of_file = |file| self.workspace.analyse(file, &Overlay::new()).as_ref().and_then(compiled);
        let of_binary = |name: &str| hearth_ipanema::compile(&|_: &str| None, name).ok();
        let base = match (file, base) {
            (Some(file), _) => of_file(file),
            (None, Some(base)) => of_binary(&base.name.name),
            (None, None) => None,
        };
        let base = base.or_else(|| of_binary(builtin::NAMES[0]))?;
        Some(Plan { policy, base, settled: self.settled.clone() })
    }

    fn report(&mut self, name: &str, kind: Kind, number: u64, report: Report) -> io::Result<()> {
        let wanted = match report {
            Report::Progress(title) => self.lenses.progress(name, kind, number, title),
            Report::Done(finding) => {
                self.changed.insert(name.to_owned());
                self.lenses.done(name, kind, number, finding)
            }
        };
        if wanted { self.refresh() } else { Ok(()) }
    }

    /// Asks the client to read the lenses again.
    fn refresh(&mut self) -> io::Result<()> {
        if !self.refreshes {
            return Ok(());
        }
        self.requests += 1;
        self.output.request(self.requests, "workspace/codeLens/refresh")
    }
}

fn refused(why: impl Into<String>) -> Failed {
    Failed::new(REQUEST_FAILED, why)
}

fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, Failed> {
    serde_json::from_value(params).map_err(|error| Failed::new(INVALID_PARAMS, error.to_string()))
}

fn answer(result: impl serde::Serialize) -> Answer {
    to_value(result).map_err(|error| Failed::new(crate::rpc::INTERNAL_ERROR, error.to_string()))
}

fn compiled(analysed: &Analysed) -> Option<Compiled> {
    let analysis = &analysed.analysis;
    Some(Compiled { ir: analysis.ir.clone()?, warnings: Vec::new(), sources: analysis.sources.clone() })
}

/// The edits that format a document; `None` if it has syntax errors.
fn format(analysed: &Analysed) -> Option<Vec<TextEdit>> {
    let text = analysed.text(Analysed::ROOT)?;
    let formatted = syntax::format(SourceId::default(), text.as_str()).ok()?;
    let (old, new) = (text.as_str(), formatted.as_str());
    if old == new {
        return Some(Vec::new());
    }
    // One edit of the lines that differ, so that the cursor stays elsewhere.
    let shorter = old.len().min(new.len());
    let start = common(old.split_inclusive('\n'), new.split_inclusive('\n'), shorter);
    let end = common(old.split_inclusive('\n').rev(), new.split_inclusive('\n').rev(), shorter - start);
    let range = text.range(start..old.len() - end);
    Some(vec![TextEdit { range, new_text: new[start..new.len() - end].to_owned() }])
}

/// Bytes in the lines with which two texts begin, at most `most`.
fn common<'t>(old: impl Iterator<Item = &'t str>, new: impl Iterator<Item = &'t str>, most: usize) -> usize {
    let mut bytes = 0;
    for (old, new) in old.zip(new) {
        if old != new || bytes + old.len() > most {
            break;
        }
        bytes += old.len();
    }
    bytes
}

fn capabilities_of_server() -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        ..TextDocumentSyncOptions::default()
    };
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::UTF16),
        text_document_sync: Some(sync.into()),
        hover_provider: Some(true.into()),
        definition_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".into()]),
            ..CompletionOptions::default()
        }),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: highlight::legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: Kind::ALL.map(|kind| kind.command().to_owned()).into(),
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}
