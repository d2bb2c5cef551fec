import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerKey } from '../auth/caller.ts';
import { createTurns } from '../runtime/turns.ts';

/** Concurrent long answers per caller. Further ones wait, so that one caller cannot slow down the others. */
const AT_ONCE = 2;
const turns = createTurns(AT_ONCE);

/**
 * Waits until another long answer may be made for the caller.
 * @returns false if the connection has closed meanwhile
 */
export const takeTurn = ({ caller }: FastifyRequest, { raw }: FastifyReply): Promise<boolean> =>
  turns.take(callerKey(caller), raw);
