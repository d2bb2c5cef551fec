import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type Service, startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import type { Demo } from '../../src/demo/demo-file.ts';

/** A whole service with its demo data, as people meet it. */
export type Running = {
  readonly url: string;
  readonly service: Service;
  readonly demo: Demo;
  stop(): Promise<void>;
};

/** The public address has to be known before the service listens: it is the issuer. */
async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

export async function startDemo(env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-console-'));
  const { service, url } = await startOnFreePort({ ...env, DATA_DIR: dataDir });
  if (service.demo === undefined) throw new Error('The service has no demo data');
  return {
    url,
    service,
    demo: service.demo,
    async stop() {
      await service.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Somebody else may take the port between asking for it and listening on it. */
async function startOnFreePort(
  env: Readonly<Record<string, string>>,
  tries = 3,
): Promise<{ service: Service; url: string }> {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const settings = { PORT: String(port), PUBLIC_URL: url, LOG_LEVEL: 'error', WEBHOOKS_ALLOW_PRIVATE: 'true' };
  const config = readConfig({ ...settings, ...env });
  try {
    return { service: await startService(config, pino({ level: config.logLevel })), url };
  } catch (error) {
    if (tries === 1 || !(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    return startOnFreePort(env, tries - 1);
  }
}

/** A browser without a screen: keeps cookies, follows redirects on demand, sends forms as they stand on the page. */
export class Browser {
  readonly #url: string;
  readonly #cookies = new Map<string, string>();

  constructor(url: string) {
    this.#url = url;
  }

  cookie(name: string): string | undefined {
    return this.#cookies.get(name);
  }

  setCookie(name: string, value: string): void {
    this.#cookies.set(name, value);
  }

  /** One request, no redirect followed. */
  async request(
    path: string,
    init: { method?: string; body?: URLSearchParams; headers?: Record<string, string> } = {},
  ) {
    const url = new URL(path, this.#url);
    const answer = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: {
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(init.method === 'POST' ? { origin: this.#url } : {}),
        ...init.headers,
      },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name === undefined || value === undefined) continue;
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return { status: answer.status, headers: answer.headers, text: await answer.text(), path };
  }

  /** Goes to a page, through redirects. */
  async open(path: string): Promise<Page> {
    return this.#follow(await this.request(path));
  }

  /** Sends a form that stands on a page, with what is filled in. */
  async send(page: Page, action: string | RegExp, fields: Readonly<Record<string, string | readonly string[]>> = {}) {
    const { target, body } = page.form(action, fields);
    return this.#follow(await this.request(target, { method: 'POST', body }));
  }

  async #follow(answer: Awaited<ReturnType<Browser['request']>>): Promise<Page> {
    let current = answer;
    for (let hops = 0; current.status >= 300 && current.status < 400; hops += 1) {
      if (hops > 10) throw new Error(`Too many redirects at ${current.path}`);
      current = await this.request(
        new URL(current.headers.get('location') ?? '/', new URL(current.path, this.#url)).href,
      );
    }
    return new Page(current.status, current.text, current.path);
  }

  async signIn({ email, password }: { email: string; password: string }): Promise<Page> {
    const form = await this.open('/console');
    return this.send(form, /sign-in$/, { email, password });
  }
}

/** What a browser got. */
export class Page {
  readonly status: number;
  readonly text: string;
  readonly path: string;

  constructor(status: number, text: string, path: string) {
    this.status = status;
    this.text = text;
    this.path = path;
  }

  get title(): string {
    return /<title>(.*?)<\/title>/.exec(this.text)?.[1] ?? '';
  }

  /** What is said at the top. */
  get flash(): string {
    return [...this.text.matchAll(/<div class="flash [^"]*"[^>]*>.*?<p>(.*?)<\/p>/gs)]
      .map(([, said]) => said)
      .join('\n');
  }

  /** Forms that change something, by where they are sent. */
  forms(action: string | RegExp): string[] {
    return [...this.text.matchAll(/<form\b[^>]*method="post"[^>]*>.*?<\/form>/gs)]
      .map(([form]) => form)
      .filter((form) => {
        const to = textOf(/^<form[^>]*\saction="([^"]*)"/.exec(form)?.[1] ?? '');
        return typeof action === 'string' ? to === action : action.test(to);
      });
  }

  form(action: string | RegExp, fields: Readonly<Record<string, string | readonly string[]>>) {
    const [form] = this.forms(action);
    if (form === undefined) throw new Error(`No form ${action} on ${this.path} (${this.status}, ${this.title})`);
    const body = new URLSearchParams();
    for (const [, tag = ''] of form.matchAll(/<input\b([^>]*)>/g)) {
      const name = attribute(tag, 'name');
      const type = attribute(tag, 'type') ?? 'text';
      const picks = type === 'checkbox' || type === 'radio';
      if (name === undefined || name in fields || (picks && !/\schecked\b/.test(tag))) continue;
      body.append(name, attribute(tag, 'value') ?? 'on');
    }
    for (const [, tag = '', text = ''] of form.matchAll(/<textarea\b([^>]*)>\n?(.*?)<\/textarea>/gs)) {
      const name = attribute(tag, 'name');
      if (name !== undefined && !(name in fields)) body.append(name, textOf(text));
    }
    for (const [name, value] of Object.entries(fields))
      for (const one of typeof value === 'string' ? [value] : value) body.append(name, one);
    return { target: textOf(/^<form[^>]*\saction="([^"]*)"/.exec(form)?.[1] ?? ''), body };
  }
}

const attribute = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return found === undefined ? undefined : textOf(found);
};

const textOf = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
