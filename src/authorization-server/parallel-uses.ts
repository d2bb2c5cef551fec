import { setTimeout } from 'node:timers/promises';
import type { Documents } from '../document-store/document-store.ts';
import { invalidGrant } from './oidc-provider.ts';
import type { OidcRecord } from './oidc-record.ts';

/** How long the second request waits for the first, whose process may have died. */
const MAX_WAIT_MS = 2_000;
const POLL_MS = 20;
/** Time for the client to receive and store the answer, and for the next request to be answered. */
const TURN_MS = 250;

/** Distinguishes concurrent requests with one token from a replay. */
export function createParallelUses(records: Pick<Documents<OidcRecord>, 'get'>) {
  /** Number of requests waiting for each token in use. */
  const waiting = new Map<string, number>();

  /**
   * Serves the first of several concurrent requests with one token and refuses the others (docs/decisions/oauth.md), one after the other,
   * each once the previous one has been answered and its client has had time to store the new token. A refused client retries with the
   * token it has stored by then; the 1.x MCP SDK does so at once. An earlier refusal would make it send the used token again, which ends
   * the grant.
   */
  async function refuseInTurn(key: string): Promise<never> {
    const turn = (waiting.get(key) ?? 0) + 1;
    waiting.set(key, turn);
    for (let waited = 0; waited < MAX_WAIT_MS; waited += POLL_MS) {
      const stored = await records.get(key);
      if (stored === undefined || !isUnanswered(stored.document)) break;
      await setTimeout(POLL_MS);
    }
    await setTimeout(Math.min(turn * TURN_MS, MAX_WAIT_MS));
    if (waiting.get(key) === turn) waiting.delete(key);
    throw await invalidGrant('already used');
  }

  return { isUnanswered, refuseInTurn };
}

// An answer is recorded before it is sent. Without a record no client has received tokens, so a second use proves no theft.
const isUnanswered = ({ consumedAt, answered = false }: OidcRecord) => consumedAt !== undefined && !answered;
