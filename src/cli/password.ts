import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';

/** Prompts for a password without echoing it; reads the first line if stdin is not a terminal. */
export async function readPassword(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) return (await text(stdin)).split(/\r?\n/, 1)[0] ?? '';
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    stderr.write(question);
    return await terminal.question('');
  } finally {
    terminal.close();
    stderr.write('\n');
  }
}
