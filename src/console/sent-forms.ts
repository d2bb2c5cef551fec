import { createHash } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Answer } from './visit.ts';

type SentForm = { readonly expiresAt: Timestamp };

const collection: Collection<SentForm> = { name: 'consoleForms', kind: 'record', ttl: 'expiresAt', indexes: [] };

const REMEMBERED_MS = 24 * 3_600_000;
/** A second click comes within so long after the first, in milliseconds. */
const ANSWERED_AGAIN_MS = 10_000;

/**
 * Which forms were sent: a form does its work once. A second click gets the answer of the first, which may show a secret
 * that is nowhere else; it is kept in memory only, and for seconds.
 */
export async function openSentForms(deps: { readonly documents: DocumentStore; readonly clock: Clock }) {
  const forms = await deps.documents.open(collection);
  const answers = new Map<string, Promise<Answer | undefined>>();

  async function send(key: string, action: () => Promise<Answer>): Promise<Answer | undefined> {
    const sent = await forms.insert(key, { expiresAt: toTimestamp(deps.clock() + REMEMBERED_MS) });
    if (!sent) return undefined;
    let done = false;
    try {
      const answer = await action();
      done = !('status' in answer && answer.status === 422);
      return answer;
    } finally {
      // Nothing was done: the form may be put right and sent again.
      if (!done) await forms.delete(key);
      if (done) setTimeout(() => answers.delete(key), ANSWERED_AGAIN_MS).unref();
      else answers.delete(key);
    }
  }

  /** @returns undefined when the form was sent before and its answer can no longer be had */
  return function once(session: string, token: string, action: () => Promise<Answer>): Promise<Answer | undefined> {
    const key = createHash('sha256').update(`${session} ${token}`).digest('base64url');
    const under = answers.get(key);
    if (under !== undefined) return under;
    const answer = send(key, action);
    answers.set(key, answer);
    return answer;
  };
}
