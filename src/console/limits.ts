import type { AttemptCounts } from '../authorization-server/attempt-counts.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { refuse } from '../domain/decision.ts';
import type { PageDeps } from './parts/routes.ts';

const MINUTE_MS = 60_000;
/** Messages about spaces of a brand that no community knows yet. */
const QUESTIONS_PER_DAY = { max: 10, windowMs: 24 * 60 * MINUTE_MS };

type Questions = PageDeps['commands']['questions'];

export type LimitSettings = {
  readonly consoleWritesPerMinute: number;
  readonly testDeliveryIntervalMs: number;
};

export type ConsoleLimits = ReturnType<typeof createConsoleLimits>;

/** What the users of an account may do in the console within a time, counted across all processes (docs/decisions/console.md). */
export function createConsoleLimits(deps: {
  readonly counts: Pick<AttemptCounts, 'add'>;
  readonly settings: LimitSettings;
}) {
  const { counts } = deps;
  const { consoleWritesPerMinute: max, testDeliveryIntervalMs: windowMs } = deps.settings;

  return {
    /** Counts a form of an account. @returns the wait in milliseconds if there were too many, otherwise 0 */
    addForm: (account: Account): Promise<number> =>
      counts.add(['consoleForm', accountKey(account)], { max, windowMs: MINUTE_MS }),

    /** Limits what brands ask that no community knows yet, as it limits their requests: anyone can sign up another brand. */
    limitQuestions: ({ send }: Questions, { isOfStranger }: PageDeps['queries']['questions']): Questions => ({
      async send(message, context) {
        const { account } = message;
        const isCounted = await isOfStranger(account);
        const waitMs = isCounted ? await counts.add(['questions', accountKey(account)], QUESTIONS_PER_DAY) : 0;
        if (waitMs === 0) return send(message, context);
        const most = `A new brand sends at most ${QUESTIONS_PER_DAY.max} messages about spaces a day`;
        return refuse('BookingNotAllowed', `${most}, until a community has let it in or approved a booking.`);
      },
    }),

    /** Limits the test deliveries to each receiver, because anyone may register the endpoint of a third party. */
    limitTests: (webhooks: PageDeps['webhooks']): PageDeps['webhooks'] => ({
      ...webhooks,
      async sendTest(webhookId, context) {
        const waitMs = await counts.add(['testDelivery', webhookId], { max: 1, windowMs });
        if (waitMs === 0) return webhooks.sendTest(webhookId, context);
        const details = `The last test delivery was just sent. Send the next one in ${Math.ceil(waitMs / 1_000)} s.`;
        return refuse('ValidationError', details);
      },
    }),
  };
}
