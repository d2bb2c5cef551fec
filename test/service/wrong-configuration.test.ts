import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { runNode } from './node-process.ts';
import { temporaryDataDir } from './service-process.ts';

test.each([
  ['PORT', '99999'],
  ['PORT', '0x1F90'],
  ['DATA_DIR', '/dev/null/nowhere'],
])('with %s=%s the start fails with exit code 2 and one line that names the variable', async (variable, value) => {
  const ended = await runNode('src/main.js', [], { DATA_DIR: temporaryDataDir(), [variable]: value });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(new RegExp(`^${variable}: .+\n$`));
});

test('with an argument the start fails with exit code 2 and one line that says where settings are', async () => {
  const ended = await runNode('src/main.js', ['--port', '8080'], { DATA_DIR: temporaryDataDir() });
  expect(ended).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    stderr:
      '--port: the service takes no arguments; its settings are environment variables (see docs/operations/settings.md)\n',
  });
});

test('with a port in use or a foreign host the start fails with exit code 1 and one line that names the setting', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  for (const [settings, problem] of [
    [
      { PORT: String(port) },
      `PORT: ${port} of 127.0.0.1 is in use by another process. Stop that one, or choose another port`,
    ],
    [
      { PORT: String(await freePort()), METRICS_PORT: String(port) },
      `METRICS_PORT: ${port} of 127.0.0.1 is in use by another process. Stop that one, or choose another port`,
    ],
    [{ PORT: String(await freePort()), HOST: '192.0.2.7' }, 'HOST: 192.0.2.7 is no address of this machine'],
  ] as const) {
    const env = { DATA_DIR: temporaryDataDir(), DEMO: 'false', LOG_LEVEL: 'warn', ...settings };
    expect(await runNode('src/main.js', [], env)).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr: `${problem}\n`,
    });
  }
});

test('with an unresponsive server the start fails with exit code 1 and one line that names the setting and the reason', async () => {
  const ended = await runNode('src/main.js', [], {
    DATA_DIR: temporaryDataDir(),
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    MONGODB_URL: `mongodb://127.0.0.1:${await freePort()}/venue?serverSelectionTimeoutMS=500`,
  });
  expect(ended.code).toBe(1);
  expect(ended.stderr).toMatch(
    /^MONGODB_URL: MongoDB at 127\.0\.0\.1:\d+ cannot be reached: connect ECONNREFUSED .+\n$/,
  );
});

test('a command fails after seconds, and not after the half minute of a start, when a server is away', {
  timeout: 25_000,
}, async () => {
  const settings = { DATA_DIR: temporaryDataDir(), SECRET_KEY: Buffer.alloc(32, 7).toString('base64') };
  const port = await freePort();
  const [documents, log] = await Promise.all([
    runNode('src/cli.js', ['status'], { ...settings, MONGODB_URL: `mongodb://127.0.0.1:${port}/venue` }),
    runNode('src/cli.js', ['status'], { ...settings, EVENTSTORE_URL: `esdb://127.0.0.1:${port}?tls=false` }),
  ]);
  expect([documents.code, log.code]).toEqual([1, 1]);
  expect(documents.stderr).toMatch(
    /^InternalError: MONGODB_URL: MongoDB at .* cannot be reached: connect ECONNREFUSED .+\n$/,
  );
  expect(log.stderr).toMatch(/^InternalError: EVENTSTORE_URL: Connecting to EventStoreDB failed: .*ECONNREFUSED .+\n$/);
});

test('with a name unknown to DNS the start fails in the same way', async () => {
  const ended = await runNode('src/main.js', [], {
    DATA_DIR: temporaryDataDir(),
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    MONGODB_URL: 'mongodb+srv://ada:secret@cluster.invalid/venue?serverSelectionTimeoutMS=500',
  });
  expect(ended.code).toBe(1);
  // Which of the two is missing, the name or DNS itself, depends on the machine.
  expect(ended.stderr).toMatch(/^MONGODB_URL: MongoDB at cluster\.invalid cannot be reached: query(Srv|Txt) \w+ .+\n$/);
});

test('with a MongoDB URL that contradicts a promise the start fails with exit code 1 and one line that names the required value', async () => {
  const ended = await runNode('src/main.js', [], {
    DATA_DIR: temporaryDataDir(),
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    MONGODB_URL: 'mongodb://ada:secret@127.0.0.1:1/venue?w=1',
  });
  expect(ended).toMatchObject({
    code: 1,
    stderr: 'MONGODB_URL: w=1 is not supported: it must be majority, which is also the default\n',
  });
});

test('with an unusable MongoDB URL the start fails with exit code 1 and one line without the password', async () => {
  const ended = await runNode('src/main.js', [], {
    DATA_DIR: temporaryDataDir(),
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    MONGODB_URL: 'mongodb://ada:sec@ret@127.0.0.1:1/venue',
  });
  expect(ended).toMatchObject({ code: 1, stderr: 'MONGODB_URL: Invalid connection string\n' });
});
