import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { accountKey } from '../domain/account.ts';
import { isObject } from '../domain/is-object.ts';
import { createTurns } from '../http/turns.ts';

/** Concurrent lists per account. Further ones wait, so that one account cannot slow down the others. */
const LISTS_AT_ONCE = 2;
/**
 * Concurrent changes per account. Those of all accounts are appended together, so each waits for the ones before it: with 64 of one account,
 * the others wait up to three times as long. With 16, an account books a third less on a slow disk, which commits as many as are there.
 * (docs/benchmarks.md#other-accounts-during-attacks)
 */
const CHANGES_AT_ONCE = 32;

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * The hook of a route that lets a request wait for its account's turn: before the handler of a list, or before the body of a change. What a
 * waiting request had read would stay in memory for as long as those before it take.
 */
type TurnHook = { readonly preHandler: Hook } | { readonly preParsing: Hook };

/** @returns the hook of a route; undefined if its requests are cheap */
export function createTurnHooks(): (route: RouteOptions) => TurnHook | undefined {
  const list = { preHandler: turnHook(LISTS_AT_ONCE) };
  const change = { preParsing: turnHook(CHANGES_AT_ONCE) };
  return (route) => {
    if (answersWithList(route)) return list;
    return [route.method].flat().every((method) => method === 'GET' || method === 'HEAD') ? undefined : change;
  };
}

function turnHook(limit: number): Hook {
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
