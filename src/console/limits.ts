import type { AttemptCounts } from '../authorization-server/attempt-counts.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { isRefusal, refuse } from '../domain/decision.ts';
import type { PageDeps } from './parts/routes.ts';

const MINUTE_MS = 60_000;
/** Messages about spaces that a brand sends in a day while no community knows it. */
const QUESTIONS_PER_DAY = { max: 10, windowMs: 24 * 60 * MINUTE_MS };

type Questions = PageDeps['commands']['questions'];

export type LimitSettings = {
  readonly consoleWritesPerMinute: number;
  readonly testDeliveryIntervalMs: number;
};

export type ConsoleLimits = ReturnType<typeof createConsoleLimits>;

/** What the users of an account may do in the console within a time, counted across all processes (docs/decisions/console.md). */
export function createConsoleLimits(deps: {
  readonly counts: Pick<AttemptCounts, 'add' | 'takeBack'>;
  readonly settings: LimitSettings;
}) {
  const { counts } = deps;
  const { consoleWritesPerMinute: max, testDeliveryIntervalMs: windowMs } = deps.settings;

  return {
    /** Counts a form of an account. @returns the wait in milliseconds if there were too many, otherwise 0 */
    addForm: (account: Account): Promise<number> =>
      counts.add(['consoleForm', accountKey(account)], { max, windowMs: MINUTE_MS }),

    /** Limits the messages about spaces of brands that no community knows yet: anyone can sign up another brand. */
    limitQuestions: ({ send }: Questions, { isOfStranger }: PageDeps['queries']['accounts']): Questions => ({
      async send(message, context) {
        const { account } = message;
        if (!(await isOfStranger(account))) return send(message, context);
        const counted = ['questions', accountKey(account)];
        const waitMs = await counts.add(counted, QUESTIONS_PER_DAY);
        if (waitMs > 0) {
          const most = `A new brand sends at most ${QUESTIONS_PER_DAY.max} messages about spaces a day`;
          return refuse('BookingNotAllowed', `${most}, until a community has let it in or approved a booking.`);
        }
        const outcome = await send(message, context);
        if (isRefusal(outcome)) await counts.takeBack(counted);
        return outcome;
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
