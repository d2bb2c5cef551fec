import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reportEngine } from '../engines.ts';
import { ALL_CALLED, type ServiceForClients, serviceForClients } from './signed-in.ts';

const run = promisify(execFile);
const here = (path: string) => new URL(path, import.meta.url).pathname;

let service: ServiceForClients;
beforeAll(async () => {
  service = await serviceForClients();
});
afterAll(() => service.stop());

/** .ci/run --system downloads the modules; nothing is fetched here. */
const env = { ...process.env, GOPROXY: 'off', GOFLAGS: '-buildvcs=false' };
const go = (...args: readonly string[]) => run('go', args, { env, cwd: service.folder });

test('oapi-codegen generates a client that signs in with x/oauth2, refreshes and calls every operation', async ({
  skip,
}) => {
  await cp(here('go'), service.folder, { recursive: true });
  const missing = await go('tool', '-n', 'oapi-codegen').then(
    () => undefined,
    ({ message }: Error) => message.trim().split('\n').at(-1),
  );
  const said = `NOT TESTED: ${missing} (cd test/clients/go && go mod download)`;
  reportEngine('client', 'Go', missing === undefined ? 'oapi-codegen and x/oauth2' : said);
  skip(missing !== undefined, missing);
  const generated = await go('tool', 'oapi-codegen', '-config', 'config.yaml', here('../../docs/openapi.json'));
  expect(generated.stderr).toBe('');
  await go('build', '-o', 'client', '.');
  expect(await service.runClient(join(service.folder, 'client'), [])).toEqual({
    refreshed: true,
    statuses: ALL_CALLED,
    totalPrice: 230,
    charged: 230,
  });
});
