import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { OPERATIONS } from '../../src/description/operations.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { CONTEXT, NOON, runServiceAt } from '../running-service.fixture.ts';

/** The clients do not call it yet. */
const NOT_CALLED = ['declineMove'];

/** The status of each operation when it succeeds. */
export const ALL_CALLED = {
  ...Object.fromEntries(
    Object.keys(OPERATIONS)
      .filter((operation) => !NOT_CALLED.includes(operation))
      .map((operation) => [operation, 200]),
  ),
  createBooking: 201,
  createCustomer: 201,
  createWebhook: 201,
  deleteWebhook: 204,
};

/** What a client prints of the move that a brand asked for and the community took, and of its customers. */
export const MOVED_AND_ADDED = { moved: ['2026-12-11', 'Approved'], customers: ['Choir'] };

export type ServiceForClients = Awaited<ReturnType<typeof serviceForClients>>;

/**
 * A service that listens, with a user of a brand, a space, and a completed booking there, so that every operation has something to answer,
 * the key of the community, which the operations on customers need, and an empty folder for the files of a client.
 */
export async function serviceForClients() {
  const folder = await mkdtemp(join(tmpdir(), 'venue-client-'));
  const { url, service, listen } = await runServiceAt();
  const { bookings } = service.core.commands;
  const community = await service.community();
  const brand = await service.brand();
  const spaceId = await service.space(community);
  const user = { email: 'ada@example.com', password: 'correct horse battery' };
  accepted(await service.core.users.add({ ...user, accounts: [brand.account] }, BY_OPERATOR));
  const body = { spaceId, startTime: '2026-12-02', startHour: 10 };
  const { id: bookingId } = (await service.post('/bookings', { key: brand.key, body })).json();
  accepted(await bookings.approve({ bookingId, communityId: community.id }, CONTEXT));
  service.time.now = Date.parse('2026-12-02T20:00:00Z');
  accepted(await bookings.complete(bookingId, CONTEXT));
  service.time.now = NOON;
  await listen();
  let requests = 0;
  service.app.server.on('request', () => {
    requests += 1;
  });

  /** Signs in at an authorization URL and allows the app. @returns the address to which the browser was redirected */
  async function signIn(link: string): Promise<string> {
    const browser = new Browser(url);
    const page = await browser.send(await browser.open(link), '/sign-in', user);
    const { url: callback } = await browser.send(page, '/consent', { account: `Brand:${brand.id}` });
    return callback.href;
  }

  /**
   * Runs a program that prints `OPEN` and the address at which its user signs in, reads the address to which the browser was redirected, and
   * prints its result as the last line, in JSON. Its first argument is a JSON object with what it has to know.
   */
  async function runClient(
    command: string,
    args: readonly string[],
    options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
  ) {
    const known = { url, spaceId, communityId: community.id, communityKey: community.key, bookingId };
    const child = spawn(command, [...args, JSON.stringify(known)], { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
    let complaints = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaints += text;
    });
    const closed = once(child, 'close');
    let last = '';
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith('OPEN ')) child.stdin.write(`${await signIn(line.slice(5))}\n`);
      else last = line;
    }
    await closed;
    if (child.exitCode !== 0) throw new Error(`${command} ended with ${child.exitCode}: ${complaints}`);
    return JSON.parse(last);
  }

  async function stop(): Promise<void> {
    await service.stop();
    await rm(folder, { recursive: true });
  }

  return { url, service, key: brand.key, community, spaceId, folder, runClient, requests: () => requests, stop };
}
