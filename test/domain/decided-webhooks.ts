import { webhooks } from '../../projections/webhooks.ts';
import * as aggregates from '../../src/commands/aggregates.ts';
import type { Account } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { webhookId } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { registerWebhook, removeWebhook, webhookQuota } from '../../src/domain/webhook.ts';
import type { Answer, Model } from '../model/model.ts';
import type { DecidedLog } from './decided-log.ts';
import { answerOf, refused } from './model-values.ts';

const WEBHOOKS_PER_ACCOUNT = 1_000;

/** The answer of the rules, and that of the model. */
export type Both = readonly [Answer, Answer];

/** The webhooks of a {@link DecidedHistory}. */
export class DecidedWebhooks {
  readonly #log: DecidedLog;
  readonly #model: Model;
  readonly #answer: (key: string, decide: (by: Account) => Answer) => Answer;
  /** Their ids, in the order in which they came. */
  readonly #ids: string[] = [];

  /** @param deps.answer answers a call with a key, if that may make it */
  constructor(deps: {
    log: DecidedLog;
    model: Model;
    answer: (key: string, decide: (by: Account) => Answer) => Answer;
  }) {
    this.#log = deps.log;
    this.#model = deps.model;
    this.#answer = deps.answer;
  }

  register(key: string, events: number): Both {
    const id = `wh_${this.#ids.length}`;
    const answer = this.#answer(key, (account) => {
      const ofCredential = this.#of(key).length;
      const quota = webhookQuota({ ofCredential, ofAccount: 0, recent: [] }, WEBHOOKS_PER_ACCOUNT, this.#model.now);
      if (quota !== undefined) return refused(quota.refused);
      const owner = { credential: `apiKey:${key}`, account } as const;
      const command = { webhookId: webhookId(id), owner, url: 'https://example.com/', events, sealedSecret: 's' };
      const decision = this.#log.decide(streamOf.webhook(id), aggregates.webhook, this.#model.now, (before) =>
        registerWebhook(before, command, { urlProblem: undefined }),
      );
      if (!isRefusal(decision)) this.#ids.push(id);
      return answerOf(decision, 201);
    });
    return [answer, this.#model.registerWebhook(key, events, () => id)];
  }

  remove(key: string, index: number): Both {
    const id = this.#ids[index % (this.#ids.length || 1)] ?? 'wh_none';
    const answer = this.#answer(key, (account) =>
      answerOf(this.#end(id, { account, credential: `apiKey:${key}` }), 204),
    );
    return [answer, this.#model.removeWebhook(key, id)];
  }

  list = (key: string): Both => [
    this.#answer(key, () => ({ status: 200, body: this.#of(key) })),
    this.#model.webhooks(key),
  ];

  /** The key is revoked. */
  endAllOf(key: string): void {
    for (const id of this.#of(key)) this.#end(id);
  }

  #end = (id: string, by?: { readonly account: Account; readonly credential: `apiKey:${string}` }) =>
    this.#log.decide(streamOf.webhook(id), aggregates.webhook, this.#model.now, (webhook) =>
      removeWebhook(webhook, { webhookId: webhookId(id), ...(by && { by }) }),
    );

  #of(key: string): readonly string[] {
    const all = [...this.#log.documents(webhooks).values()];
    return all.flatMap(({ credential, webhookId: id }) => (credential === `apiKey:${key}` ? [id] : [])).toSorted();
  }
}
