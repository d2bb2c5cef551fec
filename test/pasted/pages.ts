import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readConfig } from '../../src/config.ts';
import type { Demo } from '../../src/demo/demo-file.ts';
import { readExamples } from '../../src/description/examples.ts';
import { newSigningSecret, serviceSignature } from '../../src/webhooks/send/signature.ts';
import { Browser } from '../browser.ts';
import { MONGODB, ownDatabase } from '../document-store/engines.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { CRYPTOGRAPHY } from '../python.ts';
import type { Tool } from '../tool.ts';
import type { Given, Terminal } from './terminal.ts';

export type Fill = Readonly<Record<string, string>>;
type Check = Terminal & { readonly code: string; readonly printed: string };

/** What a reader does about one block, beyond pasting it. */
export type Step = {
  /** Runs before the block. */
  readonly before?: string;
  /** What the page leaves open, and what the reader writes there. */
  readonly fill?: Fill | ((terminal: Terminal) => Promise<Fill>);
  /** What has to be true afterwards; for a block that is neither commands nor a program, what runs it. */
  readonly check?: (at: Check) => void | Promise<void>;
};

/** How the blocks of a page are run: those of `sh` are pasted in their order. */
export type Page = Omit<Given, 'demo'> & {
  /** What the page needs beyond a terminal. */
  readonly needs?: Tool;
  /** By a piece of text that only this block has. */
  readonly steps?: Readonly<Record<string, Step>>;
  /** The blocks and lines that begin with a text and cannot be run here, and why; `''`: all blocks that name no language. */
  readonly leftOut?: readonly (readonly [text: string, reason: string])[];
};

const PICTURE = new URL('../../src/demo/photos/terrace-sunset-1600.webp', import.meta.url).pathname;

const RECORDED = 'recorded from a running service by test/description/examples.test.ts';
const json = (name: string, field: string): string => `$(node -p 'JSON.parse(process.argv[1]).${field}' "$${name}")`;
const FIRST_KEY = `$(node -p 'require("./data/demo.json").brands[0].apiKey')`;

/** An MCP client that is given this URL learns where to sign in. */
async function pointsToSignIn(url: string): Promise<void> {
  const answer = await fetch(url, { method: 'POST' });
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining('resource_metadata='),
  ]);
}
const mcpConfiguration: Step = {
  check: ({ code }) => pointsToSignIn(JSON.parse(code).mcpServers['venue-booking'].url),
};

const README: Page = {
  given: 'none',
  npx: 'real',
  leftOut: [
    ['npm test', 'it runs this test'],
    ['     REST · MCP', 'a picture'],
  ],
  steps: {
    'curl -s': {
      async check({ printed, code, paste }) {
        // Three JSON values, one directly after another.
        const answers = JSON.parse(`[${printed.replace(/([}\]])\s*(?=[{[]"|\[\{)/g, '$1,')}]`);
        expect(answers).toMatchObject([
          { timeSlots: expect.arrayContaining([{ hour: 10, label: '10:00 AM', isAvailable: true }]) },
          { status: 'Pending', startHour: 10, totalPrice: 483 },
          [{ status: 'Pending', startHour: 10 }],
        ]);
        const [again = ''] = /^curl[^#]*-d[^#]*/m.exec(code.slice(code.indexOf('# Request'))) ?? [];
        expect(JSON.parse(await paste(again))).toMatchObject({ error: 'SlotUnavailable' });
        await paste(`REQUESTED=${answers[1].id}`);
      },
    },
    'booking approve ID': {
      fill: { 'approve ID': 'approve $REQUESTED' },
      check: ({ printed }) => expect(printed).toMatch(/Pending.*Approved/s),
    },
  },
};

const WEBHOOKS: Page = {
  steps: {
    'node receiver.mjs': {
      async check({ paste, receiverPort }) {
        const secret = (await paste('echo $SIGNING_SECRET')).trim();
        const body = JSON.stringify({
          event: 'BookingRequested',
          timestamp: '2026-01-01T00:00:00Z',
          data: { bookingId: 7 },
        });
        const post = async (signature: string, sent = body) => {
          const headers = { 'x-service-signature': signature };
          return (await fetch(`http://127.0.0.1:${receiverPort}`, { method: 'POST', headers, body: sent })).status;
        };
        const genuine = serviceSignature(secret, body);
        const wrong = [serviceSignature(newSigningSecret(), body), '', 'not hex at all'];
        expect(await Promise.all(wrong.map((signature) => post(signature)))).toEqual([401, 401, 401]);
        expect([await post(genuine), await post(genuine, `${body} `)]).toEqual([200, 401]);
        expect(await paste('cat "$TERMINAL/background.txt"')).toContain('BookingRequested 7\n');
      },
    },
  },
};

const AUDIT: Page = {
  needs: CRYPTOGRAPHY,
  leftOut: [['venue-booking-service/', 'an example of a checkpoint']],
  steps: {
    'verify --export': {
      check: ({ printed }) => expect(printed.match(/^confirmed +1$/gm)).toHaveLength(2),
    },
    'python3 check.py': {
      check: ({ printed }) => expect(printed.match(/^as sealed: \d files, 1 checkpoints$/gm)).toHaveLength(3),
    },
  },
};

const RESEND = ['npx venue mail resend ID', 'needs a mail; test/contract/operator-shapes.test.ts has one'] as const;

const BACKUP: Page = {
  leftOut: [['install -d', 'needs systemd']],
  steps: {
    'venue backup': { before: 'mkdir backups', fill: { '/backups/': 'backups/' } },
    'venue restore': {
      before: 'mkdir restored; cp data/secret.key restored; export DATA_DIR=restored',
      fill: { '/backups/': 'backups/' },
    },
  },
};

const SERVERS: Page = {
  given: 'none',
  needs: MONGODB,
  leftOut: [
    ['# Only once.', 'needs Docker'],
    ['{ "loginName"', 'needs an EventStoreDB with users'],
  ],
  steps: {
    'export EVENTSTORE_URL': {
      async fill({ onClose }) {
        const log = await EventStoreDbServer.start();
        onClose(() => log.stop());
        return { 'esdb://localhost:2113?tls=false': log.url, 'mongodb://localhost:27017/venue': ownDatabase() };
      },
    },
    'esdb+discover://user': { check: ({ code }) => areSettings('EVENTSTORE_URL', code) },
    'import { EventStoreDBClient': {
      async check({ code, folder, paste, onClose }) {
        const log = await EventStoreDbServer.start();
        onClose(() => log.stop());
        writeFileSync(join(folder, 'lists.mjs'), code.replace(/esdb:[^']+/, log.url));
        await paste('node lists.mjs');
      },
    },
    'mongodb+srv://user': { check: ({ code }) => areSettings('MONGODB_URL', code) },
  },
};

/** Each line is a valid value of a setting. */
function areSettings(name: string, code: string): void {
  const others = { EVENTSTORE_URL: 'esdb://localhost', MONGODB_URL: 'mongodb://localhost/venue' };
  const SECRET_KEY = Buffer.alloc(32).toString('base64');
  for (const line of code.trim().split('\n')) readConfig({ ...others, SECRET_KEY, [name]: line });
}

const EXPORT: Page = {
  steps: {
    sha256sum: {
      check({ printed }) {
        const [, sha] = /"sha256":"(\w+)"/.exec(printed) ?? [];
        expect(printed).toContain(`${sha}  -`);
      },
    },
  },
};

const { deliveries, signingSecret } = readExamples();
/** What a receiver is given: each recorded delivery, and with another body, another secret and no signature. */
const SIGNED = Object.values(deliveries).flatMap(({ headers, body }) => {
  const signature = headers['x-service-signature'];
  return [
    [body, signature, signingSecret],
    [`${body} `, signature, signingSecret],
    [body, signature, `${signingSecret}x`],
    [body, null, signingSecret],
  ];
});
const GENUINE = SIGNED.map((_, index) => index % 4 === 0);

const REFERENCE: Page = {
  given: 'service',
  leftOut: [
    ['', RECORDED],
    ['{\n  "access_token"', RECORDED],
    ['{ "error": "invalid_target"', RECORDED],
    ['{\n  "jsonrpc"', RECORDED],
    ['{\n  "id": 1,\n  "spaceId"', RECORDED],
  ],
  steps: {
    'KEY=vbs_live_…': { fill: { 'vbs_live_…': FIRST_KEY } },
    '/connect/register': {
      async check({ printed, folder, paste }) {
        const url = new URL(printed.trim());
        const demo: Demo = JSON.parse(readFileSync(join(folder, 'data/demo.json'), 'utf8'));
        const browser = new Browser(url.origin);
        const [brand] = demo.brands;
        const consent = await browser.send(await browser.open(url), '/sign-in', { ...brand?.user });
        const back = await browser.send(consent, '/consent', { account: `Brand:${brand?.id}` });
        await paste(`RECEIVED=${back.url.searchParams.get('code')}`);
      },
    },
    'grant_type=authorization_code': {
      fill: { 'CODE=…': 'CODE=$RECEIVED' },
      check: ({ printed }) => expect(JSON.parse(printed)).toHaveProperty('refresh_token', expect.any(String)),
    },
    'grant_type=client_credentials': {
      before: 'CLIENT=$(npx venue client add --brand 1 --name "Nightly import" --json)',
      fill: {
        'CLIENT_ID=…': `CLIENT_ID=${json('CLIENT', 'clientId')}`,
        'CLIENT_SECRET=…': `CLIENT_SECRET=${json('CLIENT', 'clientSecret')}`,
      },
      check: ({ printed }) => expect(JSON.parse(printed)).toHaveProperty('access_token', expect.any(String)),
    },
    '"mcpServers"': mcpConfiguration,
    'POST /mcp HTTP/1.1': {
      async check({ code, port }) {
        const answer = await fetch(`http://localhost:${port}/mcp`, { method: 'POST' });
        expect(code).toContain(
          `${answer.status} ${answer.statusText}\nWWW-Authenticate: ${answer.headers.get('www-authenticate')}`,
        );
      },
    },
    'export function isGenuine': {
      async check({ code, folder, paste }) {
        const asked = `${code}\nconsole.log(JSON.stringify(${JSON.stringify(SIGNED)}.map((each) => isGenuine(...each))));`;
        writeFileSync(join(folder, 'data/genuine.mjs'), asked);
        expect(JSON.parse(await paste('node data/genuine.mjs'))).toEqual(GENUINE);
      },
    },
    'def is_genuine': {
      async check({ code, folder, paste }) {
        const asked = `import json\ncases = json.loads(r"""${JSON.stringify(SIGNED)}""")\n`;
        const printed = 'print(json.dumps([is_genuine(body.encode(), *rest) for body, *rest in cases]))';
        writeFileSync(join(folder, 'data/genuine.py'), `${code}\n${asked}${printed}\n`);
        expect(JSON.parse(await paste('python3 data/genuine.py'))).toEqual(GENUINE);
      },
    },
  },
};

/** The pages whose blocks need more than to be pasted on the demo data. A page that is not here needs no more. */
export const PAGES: Readonly<Record<string, Page>> = {
  'README.md': README,
  '/docs': REFERENCE,
  'docs/guides/rest-api.md': {
    steps: { 'api-key issue': { check: ({ printed }) => expect(printed).toContain('vbs_live_') } },
  },
  'docs/guides/webhooks.md': WEBHOOKS,
  'docs/guides/mcp.md': {
    given: 'service',
    steps: {
      'http://localhost:3000/mcp\n': { check: ({ code }) => pointsToSignIn(code.trim()) },
      mcpServers: mcpConfiguration,
    },
  },
  'docs/guides/audit.md': AUDIT,
  'docs/guides/command-line.md': {
    steps: {
      'booking history 7': { fill: { '2026-11-20T12:00:00Z': `$(node -p 'new Date().toISOString()')` } },
      'space photo add': { fill: { 'hall.jpg': PICTURE } },
    },
  },
  'docs/guides/console.md': {
    given: 'none',
    steps: {
      'venue user add': {
        fill: { 'you@example.com --community 1': 'you@example.com --community 1 <<< "long enough 1"' },
      },
    },
  },
  'docs/operations/servers.md': SERVERS,
  'docs/operations/backup.md': BACKUP,
  'docs/operations/monitoring.md': {
    leftOut: [['METRICS_PORT=9464', 'test/monitoring/metrics-port.test.ts asks the port']],
  },
  'docs/operations/mail.md': {
    leftOut: [
      ['export SMTP_URL', 'needs a mail server; test/service/mail.test.ts has one'],
      ['export NODE_EXTRA_CA_CERTS', 'needs a mail server; test/mail/tls.test.ts has one'],
      RESEND,
    ],
  },
  'docs/operations/containers.md': {
    leftOut: [
      ['docker ', 'needs Docker'],
      ['services:', 'needs Docker'],
      ['kubectl ', 'needs Kubernetes'],
    ],
  },
  'docs/operations/runbook.md': {
    leftOut: [
      ['scrape_configs', 'needs Prometheus'],
      ['curl -s http://127.0.0.1:9464', 'needs METRICS_PORT; test/monitoring/metrics-port.test.ts sets it'],
      ...['deliveries', 'delivery', 'resend', 'disable', 'enable', 'test', 'recover'].map(
        (command) => [`npx venue webhook ${command} `, 'needs a webhook; test/cli/webhooks.test.ts has one'] as const,
      ),
      ['docker compose', 'needs Docker'],
      ['systemctl', 'needs systemd'],
      ['journalctl', 'needs systemd'],
      RESEND,
    ],
    steps: { 'backup --into': { before: 'mkdir backups', fill: { '/backups': 'backups' } } },
  },
  'docs/operations/export.md': EXPORT,
  'docs/decisions/seals.md': {
    leftOut: [['{"data":{"brandId"', 'test/audit/portable-event.test.ts computes the hash of this line']],
  },
};
