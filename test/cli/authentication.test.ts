import * as oidc from 'openid-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runVenue } from '../../src/cli/venue.ts';
import { defined } from '../../src/domain/defined.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { runNode } from '../service/node-process.ts';
import { startServiceProcess, temporaryDataDir } from '../service/service-process.ts';

const PASSWORD = 'correct horse battery';

test('changes to users, clients and keys take effect in the running service immediately', async () => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
  const context = `http://localhost:${new URL(service.url).port}`;
  const [brand, otherBrand] = service.demo().brands;
  if (brand === undefined || otherBrand === undefined) throw new Error('No demo brands');

  vi.stubEnv('DATA_DIR', dataDir);
  onTestFinished(() => void vi.unstubAllEnvs());
  /** Runs a command inside this process, next to that of the service. */
  async function run(...args: readonly string[]) {
    let [stdout, stderr] = ['', ''];
    const output = { out: (text: string) => (stdout += text), err: (text: string) => (stderr += text) };
    const code = await runVenue([...args, '--json'], output);
    return { code, stdout, stderr };
  }
  /** Runs a command that reads stdin, which takes a separate process. */
  const runWith = (input: string, ...args: readonly string[]) =>
    runNode('src/cli.js', [...args, '--json'], { DATA_DIR: dataDir }, defined({ input }));
  function parsed({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }) {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  }
  const email = ['--email', 'ada@example.com'];

  const user = parsed(await runWith(`${PASSWORD}\n`, 'user', 'add', ...email, '--brand', `${brand.id}`));
  expect(user).toMatchObject({ email: 'ada@example.com', accounts: [{ kind: 'Brand', id: brand.id }] });
  expect(JSON.stringify(user)).not.toContain('argon2');
  parsed(await run('user', 'join', ...email, '--brand', `${otherBrand.id}`));

  const app = await TestApp.register(context);
  const consent = { email: 'ada@example.com', password: PASSWORD, account: `Brand:${otherBrand.id}` };
  const tokens = await app.tokens(consent);
  const bookings = (token: string) =>
    fetch(`${service.url}/api/v1/bookings`, { headers: { authorization: `Bearer ${token}` } });
  const asKey = await (await bookings(otherBrand.apiKey)).json();
  const answer = await bookings(tokens.access_token);
  expect([answer.status, await answer.json()]).toEqual([200, asKey]);

  const { kid } = parsed(await run('signing-key', 'rotate'));
  const published = await (await fetch(`${context}/.well-known/jwks`)).text();
  expect(published).toContain(kid);

  const added = parsed(
    await run('client', 'add', '--brand', `${brand.id}`, '--grant', 'client_credentials', '--name', 'Sync'),
  );
  const insecure = { execute: [oidc.allowInsecureRequests] };
  const client = await oidc.discovery(new URL(context), added.clientId, added.clientSecret, undefined, insecure);
  const { access_token: machine } = await oidc.clientCredentialsGrant(client, { resource: 'api' });
  expect((await bookings(machine)).status).toBe(200);
  expect(JSON.stringify(parsed(await run('client', 'list')))).not.toContain(added.clientSecret);
  parsed(await run('client', 'remove', added.clientId));
  expect((await bookings(machine)).status).toBe(401);

  parsed(await runWith('another long one', 'user', 'password', ...email));
  expect((await bookings(tokens.access_token)).status).toBe(200);
  parsed(await run('user', 'remove', ...email));
  expect((await bookings(tokens.access_token)).status).toBe(401);

  const short = await runWith('short', 'user', 'add', ...email, '--brand', `${brand.id}`);
  expect([short.code, JSON.parse(short.stderr).error]).toEqual([1, 'ValidationError']);
  for (const args of [
    ['user', 'add', ...email, '--brand', '999'],
    ['user', 'remove', ...email],
    ['client', 'remove', 'nobody'],
  ]) {
    const { code, stderr } = await run(...args);
    expect([code, JSON.parse(stderr).error]).toEqual([1, 'ResourceNotFound']);
  }
});
