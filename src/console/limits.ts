import type { AttemptCounts } from '../authorization-server/attempt-counts.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { refuse } from '../domain/decision.ts';
import type { PageDeps } from './parts/routes.ts';

const MINUTE_MS = 60_000;

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
