import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { envFor, programs } from '../tool.ts';
import { ANSWERS_WITHIN_MS, clickActions, keyActions, type RunningBrowser, type Tab } from './tab.ts';

const [DRIVER, SCREEN_IN_MEMORY] = ['WebKitWebDriver', 'xvfb-run'];

export const WEBKIT = programs('WebKit', 'apt-get install webkit2gtk-driver xvfb xauth', DRIVER, SCREEN_IN_MEMORY);

/** Larger than any window of a test, with the toolbar. */
const SCREEN = '-screen 0 1600x1200x24';
/** Without it, the toolbar of WebKit's browser makes every window at least 447 px wide. */
const NARROW_TOOLBAR =
  '* { padding: 0; min-width: 0; min-height: 0; font-size: 1px; -gtk-icon-transform: scale(0.01); }';

/** Starts WebKitGTK's own browser on a screen in memory, and drives it by WebDriver, the only protocol that it speaks. */
export async function startWebKit(): Promise<RunningBrowser> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-webkit-'));
  await mkdir(join(folder, 'gtk-3.0'));
  await writeFile(join(folder, 'gtk-3.0/gtk.css'), NARROW_TOOLBAR);
  const port = await freePort();
  // In a process group of its own, which ends with the browser.
  const child = spawn(SCREEN_IN_MEMORY, ['--auto-servernum', `--server-args=${SCREEN}`, DRIVER, `--port=${port}`], {
    env: {
      ...envFor(WEBKIT),
      XDG_CONFIG_HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CACHE_HOME: folder,
      // The screen in memory has no graphics card to share buffers with. Trying to takes seconds.
      WEBKIT_DISABLE_DMABUF_RENDERER: '1',
    },
    stdio: 'ignore',
    detached: true,
  });
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  await eventually(() => command(url, 'GET', '/status'));
  const { sessionId } = await command<{ readonly sessionId: string }>(url, 'POST', '/session', { capabilities: {} });
  const send: Send = (method, path, body) => command(url, method, `/session/${sessionId}${path}`, body);
  let shown = await send<string>('GET', '/window');
  let first: string | undefined = shown;
  /** Commands go to one tab at a time. */
  const sendTo =
    (handle: string): Send =>
    async (method, path, body) => {
      if (shown !== handle) await send('POST', '/window', { handle });
      shown = handle;
      return send(method, path, body);
    };
  return {
    async newTab() {
      const handle = first ?? (await send<{ readonly handle: string }>('POST', '/window/new', { type: 'tab' })).handle;
      first = undefined;
      return tabOf(sendTo(handle));
    },
    async close() {
      await send('DELETE', '').catch(() => {});
      if (child.pid !== undefined) process.kill(-child.pid);
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type Size = Readonly<Record<'width' | 'height', number>>;

type Send = <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<T>;

/** Sends a command of W3C WebDriver and returns its value. */
async function command<T>(url: string, method: string, path: string, body: object = {}): Promise<T> {
  const answer = await fetch(`${url}${path}`, {
    method,
    ...(method === 'POST' && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
  });
  const { value } = Object(await answer.json());
  if (!answer.ok) throw new Error(`${path}: ${value.error}: ${value.message}`);
  return value;
}

function tabOf(send: Send): Tab {
  const act = (actions: object) => send('POST', '/actions', { actions });
  const tab: Tab = {
    async open(url) {
      await send('POST', '/url', { url });
    },
    async evaluate<T>(expression: string): Promise<T> {
      const script = `const [settle] = [arguments[arguments.length - 1]];
        (async () => JSON.stringify({ value: await (${expression}) }))().then(settle, (error) => settle(JSON.stringify({ error: String(error) })));`;
      const { value, error } = JSON.parse(await send<string>('POST', '/execute/async', { script, args: [] }));
      if (error !== undefined) throw new Error(error);
      return value;
    },
    async clickAt(x, y) {
      await act(clickActions(x, y));
    },
    async type(text) {
      await act(keyActions(text));
    },
    async resize(width, height) {
      // The window includes the toolbar, and takes a new size some time after the command has ended.
      await eventually(async () => {
        const window = await send<Size>('GET', '/window/rect');
        const page = await tab.evaluate<Size>('({ width: innerWidth, height: innerHeight })');
        if (page.width === width && page.height === height) return;
        const toolbar = { width: window.width - page.width, height: window.height - page.height };
        await send('POST', '/window/rect', {
          x: 0,
          y: 0,
          width: width + Math.max(0, toolbar.width),
          height: height + Math.max(0, toolbar.height),
        });
        throw new Error(`The page is ${page.width} × ${page.height} px, not ${width} × ${height} px`);
      });
    },
    async back() {
      await send('POST', '/back');
    },
    async picture() {
      return Buffer.from(await send<string>('GET', '/screenshot'), 'base64');
    },
    async print() {
      return undefined;
    },
  };
  return tab;
}
