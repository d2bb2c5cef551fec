import { randomBytes } from 'node:crypto';
import { test as base, describe, expect } from 'vitest';
import { startSecured } from '../event-store/eventstoredb/secured-server.ts';
import type { Right } from '../event-store/eventstoredb/server.ts';
import { freePort } from '../free-port.ts';
import { runNode } from './node-process.ts';
import { temporaryDataDir } from './service-process.ts';

type User = { readonly url?: string; readonly lacks?: readonly Right[] };

async function startAs(
  user: User,
  onTestFinished: (stop: () => Promise<void> | void) => void,
  file: string,
  args: readonly string[],
) {
  const { server, urlAt } = await startSecured('node', { lacks: user.lacks ?? [] });
  onTestFinished(() => server.stop());
  return runNode(file, args, {
    PORT: String(await freePort()),
    DATA_DIR: temporaryDataDir(onTestFinished),
    SECRET_KEY: randomBytes(32).toString('base64'),
    EVENTSTORE_URL: urlAt('localhost', user.url),
  });
}

const test = base.extend<{
  /** Starts the service, or a command, as a user and waits until it has ended. */
  start: (user: User, file?: string, ...args: readonly string[]) => ReturnType<typeof startAs>;
}>({
  start: async ({ onTestFinished }, use) => {
    await use((user, file = 'src/main.js', ...args) => startAs(user, onTestFinished, file, args));
  },
});

/** Log lines about retries after the server has refused a call. */
const repeated = (stdout: string, refusal: RegExp) =>
  stdout.split('\n').filter((line) => line.includes('failed; retrying') && refusal.test(line));

describe.concurrent('a start with a user of EventStoreDB', () => {
  test.for<[string, Right, RegExp]>([
    ['that may not read the log', 'read $all', /may not read \$all; it needs the right to read \(\$r\) of \$all/],
    ['that may not read streams', 'read streams', /may not read log; .*\$r.*default user ACL/],
    ['that may not append', 'append', /may not append to log; .*\$w.*default user ACL/],
    ['that may not manage consumer groups', 'manage groups', /may not .*consumer group.*; .*\$ops/],
  ])('%s ends at once with one line that names the right', async ([, lacked, line], { start }) => {
    const ended = await start({ lacks: [lacked] });
    expect(ended).toEqual({
      code: 1,
      signal: null,
      stdout: expect.any(String),
      stderr: expect.stringMatching(`^EVENTSTORE_URL: the user .*${line.source}.*docs/operations/servers\\.md.*\\n$`),
    });
    expect(repeated(ended.stdout, /may not/)).toEqual([]);
  });

  test.for<[string, string, string]>([
    ['whose password is wrong', 'venue:wrong@', 'EventStoreDB rejected the user or the password'],
    ['that the URL does not name', '', 'EventStoreDB requires a user, but the URL names none'],
  ])('%s ends at once with one line that names the reason', async ([, url, line], { start }) => {
    const ended = await start({ url });
    expect(ended).toMatchObject({ code: 1, signal: null, stderr: `EVENTSTORE_URL: ${line}\n` });
    expect(repeated(ended.stdout, new RegExp(line))).toEqual([]);
  });

  test('a command reports a missing right, too', async ({ start }) => {
    const ended = await start({ lacks: ['append'] }, 'src/cli.js', 'brand', 'add', '--name', 'Acme');
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^(InternalError: )?EVENTSTORE_URL: the user .*\$w.*docs\/operations\/servers\.md.*\n$/,
      ),
    });
  });
});
