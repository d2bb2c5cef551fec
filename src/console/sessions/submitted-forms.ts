import { createHash } from 'node:crypto';
import type { Collection, DocumentStore } from '../../document-store/document-store.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import type { Timestamp } from '../../domain/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import { isUnavailable, OutcomeUnknown } from '../../runtime/unavailable.ts';
import type { Answer } from '../parts/answer.ts';
import { hasProblems } from '../parts/forms.ts';

type SubmittedForm = {
  readonly expiresAt: Timestamp;
  /** Until the form has taken effect. If it stays, whether it did is not known. */
  readonly isUnfinished?: true;
};

const collection: Collection<SubmittedForm> = { name: 'consoleForms', kind: 'record', ttl: 'expiresAt', indexes: [] };

const KEPT_MS = 24 * 3_600_000;
/** A second click within this time gets the answer to the first. */
const REPEATABLE_MS = 10_000;

export type SubmitOnce = Awaited<ReturnType<typeof openSubmittedForms>>;

/** Why a form has no answer: it took effect before, or whether it did is not known. */
export type SubmittedBefore = { readonly before: 'done' | 'unknown' };

/**
 * Makes each form with a token (`onceField`) take effect only once (docs/decisions/console.md). A second click gets the first answer, which
 * may show a secret that exists nowhere else, so the answer is kept for seconds and in memory only.
 */
export async function openSubmittedForms(deps: { readonly documents: DocumentStore; readonly clock: Clock }) {
  const forms = await deps.documents.open(collection);
  const answers = new Map<string, Promise<Answer | SubmittedBefore>>();

  async function submit(key: string, action: () => Promise<Answer>): Promise<Answer | SubmittedBefore> {
    const expiresAt = toTimestamp(deps.clock() + KEPT_MS);
    if (!(await forms.insert(key, { expiresAt, isUnfinished: true }))) {
      const stored = await forms.get(key);
      return { before: stored?.document.isUnfinished ? 'unknown' : 'done' };
    }
    let isKept = true;
    try {
      const answer = await action();
      if ('problems' in answer && hasProblems(answer.problems ?? {})) isKept = false;
      // The form has taken effect, so a failure to record that must not hide its answer. It then counts as unknown.
      else await forms.update(key, () => ({ expiresAt })).catch(() => {});
      return answer;
    } catch (error) {
      isKept = !isWithoutEffect(error);
      throw error;
    } finally {
      // The form was refused or had no effect, so it may be submitted again.
      if (!isKept) await forms.delete(key);
      if (isKept) setTimeout(() => answers.delete(key), REPEATABLE_MS).unref();
      else answers.delete(key);
    }
  }

  /** Answers a form, or says what is known of it if it was submitted before and its answer is no longer available. */
  return function once(
    session: string,
    token: string,
    action: () => Promise<Answer>,
  ): Promise<Answer | SubmittedBefore> {
    const key = createHash('sha256').update(`${session} ${token}`).digest('base64url');
    const previous = answers.get(key);
    if (previous !== undefined) return previous;
    const answer = submit(key, action);
    answers.set(key, answer);
    return answer;
  };
}

/** Whether a form that failed may be sent again without acting twice. */
const isWithoutEffect = (error: unknown): boolean => isUnavailable(error) && !(error instanceof OutcomeUnknown);
