import type { preHandlerAsyncHookHandler, RouteOptions } from 'fastify';
import { accountKey } from '../domain/account.ts';
import { isObject } from '../domain/is-object.ts';
import { createTurns } from '../runtime/turns.ts';

/** Concurrent lists per account. Further ones wait, so that one account cannot slow down the others. */
const LISTS_AT_ONCE = 2;
/**
 * Concurrent changes per account. Those of all accounts are appended together, so each waits for the ones before it: with 64 of one account,
 * the others wait up to three times as long. With 16, an account books a third less on a slow disk, which commits as many as are there.
 * (docs/benchmarks.md#other-accounts-during-attacks)
 */
const CHANGES_AT_ONCE = 32;

/**
 * The hooks that let a request wait for its account's turn before its handler reads anything: what a waiting request had read would stay in
 * memory for as long as clients do not read the answers before it.
 * @returns the hook of a route; undefined if its requests are cheap
 */
export function createTurnHooks(): (route: RouteOptions) => preHandlerAsyncHookHandler | undefined {
  const list = turnHook(LISTS_AT_ONCE);
  const change = turnHook(CHANGES_AT_ONCE);
  return (route) => {
    if (answersWithList(route)) return list;
    return [route.method].flat().every((method) => method === 'GET' || method === 'HEAD') ? undefined : change;
  };
}

function turnHook(limit: number): preHandlerAsyncHookHandler {
  const turns = createTurns(limit);
  return async ({ caller }, reply) => {
    const turn = await turns.take(accountKey(caller.account), reply.raw);
    // The connection has closed, so the handler must not begin.
    if (turn === undefined) reply.hijack();
  };
}

/** Whether the answer of a route is a list, which may be of any length. */
function answersWithList({ schema }: RouteOptions): boolean {
  const answer = isObject(schema?.response) ? schema.response[200] : undefined;
  return isObject(answer) && answer.type === 'array';
}
