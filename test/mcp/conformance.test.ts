import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { freePort } from '../free-port.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';

/** Runs the conformance suite of the Model Context Protocol against a running service. */

const user = { email: 'ada@example.com', password: 'correct horse battery' };
let service: RunningService;
let url: string;
let account: string;

beforeAll(async () => {
  const running = await runServiceAt();
  ({ url, service } = running);
  const brand = await service.brand();
  await service.space(await service.community());
  account = `Brand:${brand.id}`;
  accepted(await service.core.users.add({ ...user, accounts: [brand.account] }, BY_OPERATOR));
  await running.listen();
});
afterAll(() => service.stop());

const SUITE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);

/** Runs the suite's command line. `onOutput` gets all output so far. */
async function conformance(args: readonly string[], onOutput: (output: string) => void = () => {}) {
  const child = spawn(process.execPath, [SUITE, ...args], { env: { PATH: process.env.PATH ?? '', NO_COLOR: '1' } });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      onOutput(output);
    });
  await once(child, 'close');
  return { code: child.exitCode, output };
}

describe('the MCP server', () => {
  /** Starts a proxy that adds a token, which the suite cannot do. */
  async function withToken() {
    const app = await TestApp.register(url);
    const { access_token: token } = await app.tokens({ ...user, account, resource: 'mcp', scope: 'service.mcp' });
    const proxy = createServer((incoming, outgoing) => {
      const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
      const { method } = incoming;
      const forwarded = request(new URL(incoming.url ?? '', url), { headers, ...(method && { method }) }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      forwarded.on('error', () => outgoing.destroy());
      outgoing.on('close', () => forwarded.destroy());
      incoming.pipe(forwarded);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const address = proxy.address();
    if (address === null || typeof address === 'string') throw new Error('No port');
    return { url: `http://127.0.0.1:${address.port}/mcp`, close: () => proxy.close() };
  }

  test.each(['2026-07-28', '2025-11-25'])(
    'meets the requirements of revision %s for the features it offers',
    async (revision) => {
      const proxy = await withToken();
      const baseline = new URL(`conformance-baseline-${revision}.yml`, import.meta.url).pathname;
      const { code, output } = await conformance([
        'server',
        ...['--url', proxy.url, '--requirements', revision, '--expected-failures', baseline],
      ]);
      proxy.close();
      expect(output).toMatch(/✓ tools-list: \d+ passed, 0 failed/);
      expect(output).toMatch(/✓ dns-rebinding-protection: \d+ passed, 0 failed/);
      expect({ code, unexpected: /(?:Unexpected failures|Stale).*/is.exec(output)?.[0] }).toEqual({ code: 0 });
    },
    60_000,
  );
});

test('the authorization server: metadata and the authorization code grant', async () => {
  const port = await freePort();
  const app = await TestApp.register(url, { redirect_uris: [`http://127.0.0.1:${port}/callback`] });
  let opened = false;
  const args = ['--url', url, '--client-id', app.id, '--resource', `${url}/mcp`, '--port', `${port}`];
  const { code, output } = await conformance(['authorization', ...args], (printed) => {
    const link = /^(http\S+\/connect\/authorize\?\S+)$/m.exec(printed)?.[1];
    if (link === undefined || opened || !printed.includes('Callback server started')) return;
    opened = true;
    void signIn(link);
  });
  expect(output).toMatch(/✓ authorization-server-metadata-endpoint: \d+ passed, 0 failed/);
  expect(output).toMatch(/✓ authorization-code-grant: \d+ passed, 0 failed/);
  expect(code).toBe(0);
}, 60_000);

test('the guide names the version of the conformance suite in use', async () => {
  const guide = await readFile(new URL('../../docs/guides/mcp.md', import.meta.url), 'utf8');
  const manifest = JSON.parse(await readFile(join(dirname(SUITE), '../package.json'), 'utf8'));
  expect(guide).toContain(`\`@modelcontextprotocol/conformance\` ${manifest.version}`);
});

async function signIn(link: string) {
  const browser = new Browser(url);
  const consent = await browser.send(await browser.open(link), '/sign-in', user);
  const { url: callback } = await browser.send(consent, '/consent', { account });
  await fetch(callback);
}
