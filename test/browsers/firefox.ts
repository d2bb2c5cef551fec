import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { envFor, foundAt, programs } from '../tool.ts';
import { ANSWERS_WITHIN_MS, clickActions, keyActions, type RunningBrowser, type Tab } from './tab.ts';

export const FIREFOX = programs('Firefox', 'apt-get install firefox-esr', 'firefox-esr');

/**
 * Starts Firefox and drives it by WebDriver BiDi, which it speaks itself. Playwright's own adapter needs a command that this Firefox does
 * not have yet (`emulation.setMediaFeaturesOverride`), and Debian has no geckodriver.
 */
export async function startFirefox(): Promise<RunningBrowser> {
  const profile = await mkdtemp(join(tmpdir(), 'venue-firefox-'));
  await writeFile(join(profile, 'user.js'), 'user_pref("browser.aboutwelcome.enabled", false);\n');
  const args = ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'];
  const child = spawn(foundAt(FIREFOX), args, { env: envFor(FIREFOX), stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  const address = await addressOf(child.stderr);
  const { send, close } = await connect(`${address}/session`);
  await send('session.new', { capabilities: {} });
  const { contexts } = await send<{ contexts: [{ context: string }] }>('browsingContext.getTree', {});
  let first: string | undefined = contexts[0].context;
  return {
    async newTab() {
      const existing = first;
      first = undefined;
      const context = existing ?? (await send<{ context: string }>('browsingContext.create', { type: 'tab' })).context;
      return tabOf(send, context);
    },
    async close() {
      await send('browser.close', {}).catch(() => child.kill('SIGKILL'));
      close();
      await ended;
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** Reads the output of Firefox to its end, and finds the address in it. */
function addressOf(input: NodeJS.ReadableStream): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const lines: string[] = [];
  createInterface({ input })
    .on('line', (line) => {
      const [, address] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
      lines.push(line);
    })
    .on('close', () => reject(new Error(`Firefox has ended: ${lines.join('\n')}`)));
  return promise;
}

/** Sends a command and returns its result. */
type Send = <T>(method: string, params: object) => Promise<T>;

async function connect(url: string): Promise<{ readonly send: Send; close(): void }> {
  const socket = new WebSocket(url);
  const waiting = new Map<number, (message: string) => void>();
  socket.addEventListener('message', ({ data }) => waiting.get(JSON.parse(data).id)?.(data));
  socket.addEventListener('close', () => {
    for (const settle of waiting.values())
      settle('{"error": "closed", "message": "Firefox has closed the connection"}');
  });
  await once(socket, 'open');
  let last = 0;
  return {
    async send<T>(method: string, params: object) {
      last += 1;
      const id = last;
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const lateness = setTimeout(
        () => reject(new Error(`${method}: no answer to ${JSON.stringify(params)}`)),
        ANSWERS_WITHIN_MS,
      );
      waiting.set(id, (message) => {
        const { result, error, message: text } = JSON.parse(message);
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${error}: ${text}`));
      });
      socket.send(JSON.stringify({ id, method, params }));
      return promise.finally(() => {
        clearTimeout(lateness);
        waiting.delete(id);
      });
    },
    close: () => socket.close(),
  };
}

type Evaluated = {
  readonly result: { readonly value: string };
  readonly exceptionDetails?: { readonly text: string };
};

function tabOf(send: Send, context: string): Tab {
  const act = (actions: object) => send('input.performActions', { context, actions });
  return {
    async open(url) {
      await send('browsingContext.navigate', { context, url, wait: 'complete' });
    },
    async evaluate<T>(expression: string): Promise<T> {
      const { result, exceptionDetails } = await send<Evaluated>('script.evaluate', {
        expression: `(async () => JSON.stringify({ value: await (${expression}) }))()`,
        target: { context },
        awaitPromise: true,
      });
      if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
      return JSON.parse(result.value).value;
    },
    async clickAt(x, y) {
      await act(clickActions(x, y));
    },
    async type(text) {
      await act(keyActions(text));
    },
    async resize(width, height) {
      await send('browsingContext.setViewport', { context, viewport: { width, height } });
    },
    async back() {
      await send('browsingContext.traverseHistory', { context, delta: -1 });
    },
    async picture() {
      const { data } = await send<{ readonly data: string }>('browsingContext.captureScreenshot', { context });
      return Buffer.from(data, 'base64');
    },
    async print() {
      const { data } = await send<{ readonly data: string }>('browsingContext.print', {
        context,
        page: { width: 21, height: 29.7 },
      });
      return Buffer.from(data, 'base64');
    },
  };
}
