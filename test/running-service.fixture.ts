import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { type Logger, pino } from 'pino';
import { createApp } from '../src/app.ts';
import { type Config, readConfig } from '../src/config.ts';
import { type Core, type CoreOptions, openCore } from '../src/core.ts';
import type { Account } from '../src/domain/account.ts';
import type { SpaceTerms } from '../src/domain/events.ts';
import { brandId, cents, communityId } from '../src/domain/ids.ts';
import { ALL_PERMISSIONS } from '../src/domain/permissions.ts';
import { accepted } from './accepted.ts';
import { expectAsDescribed } from './description/described.ts';
import { freePort } from './free-port.ts';

export const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

/** Noon UTC on Tuesday, 1 December 2026. */
export const NOON = Date.parse('2026-12-01T12:00:00Z');

export const TERMS: SpaceTerms = {
  name: 'Great Hall',
  windowStart: 9,
  windowEnd: 22,
  durationHours: 4,
  eventFee: cents(20_000),
  answerHours: 72,
};

type Call = { readonly key?: string; readonly body?: unknown; readonly headers?: Record<string, string> };

/** Starts the service in this process: the API and the pages, and the projector, but no other role. */
export async function startInProcess(
  config: Config,
  logger: Logger,
  options: CoreOptions,
  release: { readonly openCore: typeof openCore; readonly createApp: typeof createApp } = { openCore, createApp },
) {
  const core: Core = await release.openCore(config, logger, options);
  const app: FastifyInstance = await release.createApp(core);
  core.projector.start();
  await core.projector.readModels.readable(10_000);
  await app.ready();
  return {
    core,
    app,
    async close() {
      await app.close();
      await core.projector.stop();
      await core.close();
    },
  };
}

/** The whole service in this process, on the embedded engines, with its own folder and a clock that the test controls. */
export async function runService(
  settings: Readonly<Record<string, string>> = {},
  logger = pino({ level: process.env.LOG_LEVEL ?? 'silent' }),
  options: Pick<CoreOptions, 'metrics'> = {},
) {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-'));
  const config: Config = readConfig({ DATA_DIR: dataDir, DEMO: 'false', WEBHOOKS_ALLOW_PRIVATE: 'true', ...settings });
  const time = { now: NOON };
  const { core, app, close } = await startInProcess(config, logger, { clock: () => time.now, ...options });

  async function call(method: 'GET' | 'POST' | 'DELETE' | 'PUT', url: string, { key, body, headers }: Call = {}) {
    const answer = await app.inject({
      method,
      url,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    expectAsDescribed(method, url, answer);
    return answer;
  }

  return {
    core,
    app,
    config,
    time,
    get: (url: string, options?: Call): Promise<LightMyRequestResponse> => call('GET', `/api/v1${url}`, options),
    post: (url: string, options?: Call): Promise<LightMyRequestResponse> => call('POST', `/api/v1${url}`, options),
    delete: (url: string, options?: Call): Promise<LightMyRequestResponse> => call('DELETE', `/api/v1${url}`, options),
    call,
    async community(timeZone = 'Europe/Berlin', name = 'Harbour') {
      const { communityId: id } = accepted(await core.commands.catalogue.addCommunity({ name, timeZone }, CONTEXT));
      const account: Account = { kind: 'Community', id: communityId(id) };
      return { id, account, key: await this.key(account) };
    },
    async brand(name = 'Acme') {
      const { brandId: id } = accepted(await core.commands.catalogue.addBrand({ name }, CONTEXT));
      const account: Account = { kind: 'Brand', id: brandId(id) };
      return { id, account, key: await this.key(account) };
    },
    async space(community: { readonly id: number }, terms: Partial<SpaceTerms> = {}) {
      return accepted(
        await core.commands.catalogue.addSpace({ ...TERMS, ...terms, communityId: community.id }, CONTEXT),
      );
    },
    async key(account: Account, permissions: number = ALL_PERMISSIONS) {
      const issued = accepted(await core.commands.apiKeys.issue({ account, permissions, label: 'Test' }, CONTEXT));
      return issued.key;
    },
    async stop() {
      await close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The same at a URL of its own. Nothing is answered there before `listen`, which may be called once all is set up. */
export async function runServiceAt(
  hostname: '127.0.0.1' | 'localhost' = '127.0.0.1',
  settings: Readonly<Record<string, string>> = {},
  logger?: Parameters<typeof runService>[1],
  options?: Parameters<typeof runService>[2],
) {
  const port = await freePort();
  const url = `http://${hostname}:${port}`;
  const service = await runService({ PORT: String(port), PUBLIC_URL: url, ...settings }, logger, options);
  return { url, service, listen: () => service.app.listen({ host: '127.0.0.1', port }) };
}

export type RunningService = Awaited<ReturnType<typeof runService>>;
