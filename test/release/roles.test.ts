import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { lacks } from '../lacks.ts';
import { type NodeProcess, runNode, startNode } from '../service/node-process.ts';
import { embeddedEngines } from '../soak/store.ts';
import { earlierRelease, HISTORY } from './releases.ts';

const PASSWORD = 'correct horse battery';
const SCOPE = 'offline_access service.api.read service.api.write service.api.webhooks';

test.skipIf(lacks(HISTORY))(
  'a Viewer and a Coordinator are never more than that, if either of two releases issues the token or answers',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'venue-release-'));
    const earlier = earlierRelease(folder);
    const store = await embeddedEngines.openStore();
    const port = await freePort();
    const publicUrl = `http://127.0.0.1:${port}`;
    const settings = {
      ...store.settings,
      LOG_LEVEL: 'warn',
      PUBLIC_URL: publicUrl,
      ROLES: 'api,projector,webhooks,scheduler',
    };
    const processes: NodeProcess[] = [];
    onTestFinished(async () => {
      await Promise.all(processes.map((process) => process.end('SIGKILL')));
      await store.remove();
      await rm(folder, { recursive: true, force: true });
    });

    const start = async (release: string | undefined, own: Readonly<Record<string, string>>) => {
      const process = await startNode('src/main.js', '/readyz', { ...settings, ...own }, release);
      processes.push(process);
      return process;
    };
    const venue = async (args: string, release?: string) => {
      const ended = await runNode('src/cli.js', [...args.split(' '), '--json'], settings, {
        input: `${PASSWORD}\n`,
        ...(release !== undefined && { root: release }),
      });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      return JSON.parse(ended.stdout);
    };
    const refused = async (args: string, release?: string) => {
      const ended = await runNode(
        'src/cli.js',
        args.split(' '),
        settings,
        release === undefined ? {} : { root: release },
      );
      return `${ended.code} ${ended.stderr}`;
    };

    const { id: brand } = await venue('brand add --name Aurora', earlier);
    await venue(`user add --email manager@example.com --brand ${brand}`, earlier);
    for (const role of ['viewer', 'coordinator'])
      await venue(`user add --email ${role}@example.com --brand ${brand} --role ${role}`);

    for (const issuing of [earlier, undefined]) {
      const front = await start(issuing, { PORT: String(port) });
      const back = await start(issuing === undefined ? earlier : undefined, {});
      const both = [front, back];

      const statuses = (path: string, request: RequestInit) =>
        Promise.all(
          both.map(async ({ url }) => (await fetch(`${url}${path}`, { redirect: 'manual', ...request })).status),
        );
      const consoleOf = async (email: string) => {
        const browser = new Browser(publicUrl);
        const page = await browser.signIn({ email, password: PASSWORD });
        const { csrf } = page;
        const headers = { cookie: `console=${browser.cookie('console')}`, origin: publicUrl };
        return {
          get: (path: string) => statuses(path, { headers }),
          post: (path: string) => statuses(path, { method: 'POST', headers, body: new URLSearchParams({ csrf }) }),
        };
      };
      const apiOf = async (email: string) => {
        const app = await TestApp.register(publicUrl);
        const { access_token: token } = await app.tokens({
          email,
          password: PASSWORD,
          account: `Brand:${brand}`,
          scope: SCOPE,
        });
        const authorization = `Bearer ${token}`;
        return {
          get: (path: string) => statuses(`/api/v1${path}`, { headers: { authorization } }),
          post: (path: string) =>
            statuses(`/api/v1${path}`, {
              method: 'POST',
              body: '{}',
              headers: { authorization, 'content-type': 'application/json' },
            }),
        };
      };

      const viewer = await consoleOf('viewer@example.com');
      expect(await viewer.get('/console/bookings')).toEqual([200, 200]);
      expect(await viewer.get('/console/keys')).toEqual([403, 403]);
      expect(await viewer.post('/console/find/1')).toEqual([403, 403]);
      expect(await viewer.post('/console/bookings/1/cancel')).toEqual([403, 403]);
      expect(await viewer.post('/console/keys')).toEqual([403, 403]);
      const viewerApp = await apiOf('viewer@example.com');
      expect(await viewerApp.get('/bookings')).toEqual([200, 200]);
      expect(await viewerApp.post('/bookings')).toEqual([403, 403]);
      expect(await viewerApp.get('/webhooks')).toEqual([403, 403]);

      const coordinator = await consoleOf('coordinator@example.com');
      expect(await coordinator.get('/console/keys')).toEqual([403, 403]);
      expect(await coordinator.post('/console/bookings/1/cancel')).toEqual([404, 404]);
      expect(await coordinator.post('/console/webhooks')).toEqual([403, 403]);
      const coordinatorApp = await apiOf('coordinator@example.com');
      expect(await coordinatorApp.post('/bookings')).toEqual([400, 400]);
      expect(await coordinatorApp.post('/webhooks')).toEqual([403, 403]);
      const managerApp = await apiOf('manager@example.com');
      expect(await managerApp.post('/webhooks')).toEqual([400, 400]);

      await venue(`user role --email coordinator@example.com --brand ${brand} --role viewer`);
      await eventually(async () => expect(await coordinatorApp.get('/bookings')).toEqual([401, 401]));
      expect(await coordinator.post('/console/bookings/1/cancel')).toEqual([403, 403]);
      expect(await (await apiOf('coordinator@example.com')).post('/bookings')).toEqual([403, 403]);
      await venue(`user role --email coordinator@example.com --brand ${brand} --role coordinator`);

      for (const process of both) await process.end('SIGTERM');
    }

    // A Manager whom the earlier release lets go does not count in the index by which the next one decides.
    await venue(`user role --email coordinator@example.com --brand ${brand} --role manager`);
    const { id: other } = await venue('brand add --name Elsewhere');
    await venue(`user join --email coordinator@example.com --brand ${other}`, earlier);
    await venue(`user leave --email coordinator@example.com --brand ${brand}`, earlier);
    expect(await refused(`user role --email manager@example.com --brand ${brand} --role viewer`)).toContain(
      'last Manager',
    );
  },
  300_000,
);
