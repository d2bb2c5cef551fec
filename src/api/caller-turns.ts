import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerKey } from '../auth/caller.ts';
import { createTurns } from '../runtime/turns.ts';

/** Long answers of one caller that are made at once. Others wait for their turn, so that one caller cannot slow down the others. */
const AT_ONCE = 2;
const turns = createTurns(AT_ONCE);

/**
 * Waits until the caller may have another long answer made.
 * @returns false if the answer has ended before
 */
export const takeTurn = ({ caller }: FastifyRequest, { raw }: FastifyReply): Promise<boolean> =>
  turns.take(callerKey(caller), raw);
