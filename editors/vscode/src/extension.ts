// The client of `hearth lsp`: it starts the server, and the server does the rest.

import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const settings = () => vscode.workspace.getConfiguration("hearth");
  const files = vscode.workspace.createFileSystemWatcher("**/*.ipa");
  const start = async () => {
    await client?.stop();
    const command = settings().get<string>("path", "hearth");
    client = new LanguageClient(
      "hearth",
      "Hearth",
      { command, args: ["lsp"] },
      {
        documentSelector: [{ language: "ipanema" }],
        synchronize: { fileEvents: files },
        initializationOptions: {
          workload: settings().get("workload"),
          machine: settings().get("machine"),
        },
      },
    );
    try {
      await client.start();
    } catch (error) {
      client = undefined;
      const what = `Hearth: \`${command} lsp\` does not start: ${error}. Install hearth, or set "hearth.path".`;
      void vscode.window.showErrorMessage(what);
    }
  };
  const restart = vscode.workspace.onDidChangeConfiguration(async (change) => {
    if (change.affectsConfiguration("hearth")) await start();
  });
  context.subscriptions.push(files, restart);
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
