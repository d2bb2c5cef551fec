import type { preHandlerAsyncHookHandler, RouteOptions } from 'fastify';
import { accountKey } from '../domain/account.ts';
import { isObject } from '../domain/is-object.ts';
import { createTurns } from '../runtime/turns.ts';

/** Concurrent lists per account. Further ones wait, so that one account cannot slow down the others. */
const AT_ONCE = 2;

/**
 * The hook that lets a list wait for its turn before its handler reads anything: what a waiting request had read would stay in memory
 * for as long as clients do not read the lists before it.
 */
export function createTurnHook(): preHandlerAsyncHookHandler {
  const turns = createTurns(AT_ONCE);
  return async ({ caller }, reply) => {
    const turn = await turns.take(accountKey(caller.account), reply.raw);
    // The connection has closed, so the handler must not begin.
    if (turn === undefined) reply.hijack();
  };
}

/** Whether the answer of a route is a list, which may be of any length. */
export function answersWithList({ schema }: RouteOptions): boolean {
  const answer = isObject(schema?.response) ? schema.response[200] : undefined;
  return isObject(answer) && answer.type === 'array';
}
