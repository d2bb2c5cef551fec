import { createHash } from 'node:crypto';
import type { Collection, DocumentStore } from '../../document-store/document-store.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import type { Timestamp } from '../../domain/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Answer } from '../parts/answer.ts';
import { hasProblems } from '../parts/forms.ts';

type SubmittedForm = { readonly expiresAt: Timestamp };

const collection: Collection<SubmittedForm> = { name: 'consoleForms', kind: 'record', ttl: 'expiresAt', indexes: [] };

const KEPT_MS = 24 * 3_600_000;
/** A second click within this time gets the answer to the first. */
const REPEATABLE_MS = 10_000;

export type SubmitOnce = Awaited<ReturnType<typeof openSubmittedForms>>;

/**
 * Makes each form with a token (`onceField`) take effect only once (docs/decisions/console.md). A second click gets the first answer, which
 * may show a secret that exists nowhere else, so the answer is kept for seconds and in memory only.
 */
export async function openSubmittedForms(deps: { readonly documents: DocumentStore; readonly clock: Clock }) {
  const forms = await deps.documents.open(collection);
  const answers = new Map<string, Promise<Answer | undefined>>();

  async function submit(key: string, action: () => Promise<Answer>): Promise<Answer | undefined> {
    const isFirst = await forms.insert(key, { expiresAt: toTimestamp(deps.clock() + KEPT_MS) });
    if (!isFirst) return undefined;
    let done = false;
    try {
      const answer = await action();
      done = !('problems' in answer && hasProblems(answer.problems ?? {}));
      return answer;
    } finally {
      // The form was refused or failed, so it may be submitted again.
      if (!done) await forms.delete(key);
      if (done) setTimeout(() => answers.delete(key), REPEATABLE_MS).unref();
      else answers.delete(key);
    }
  }

  /** @returns undefined if the form was submitted before and its answer is no longer available */
  return function once(session: string, token: string, action: () => Promise<Answer>): Promise<Answer | undefined> {
    const key = createHash('sha256').update(`${session} ${token}`).digest('base64url');
    const previous = answers.get(key);
    if (previous !== undefined) return previous;
    const answer = submit(key, action);
    answers.set(key, answer);
    return answer;
  };
}
