import { randomBytes } from 'node:crypto';
import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { AccountKey } from '../domain/account.ts';
import { type Decision, isRefusal, type Refusal } from '../domain/decision.ts';
import type { WebhookEvent, WebhookOwner } from '../domain/events.ts';
import { type Timestamp, type WebhookId, webhookId } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import { streamOf } from '../domain/streams.ts';
import {
  disableWebhook,
  enableWebhook,
  registerWebhook,
  removeWebhook,
  rotateWebhookSecret,
  type Webhook,
  type WebhookParty,
  wrongWebhook,
} from '../domain/webhook.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal } from '../secrets/seal.ts';
import { webhook } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { AfterAppend, CommandContext } from './command-handler.ts';
import { openWebhookQuota } from './webhook-quota.ts';

type Registration = { readonly owner: WebhookOwner; readonly url: string; readonly events: number };
type Party = { readonly webhookId: string; readonly by?: WebhookParty };

export type WebhookCommands = Awaited<ReturnType<typeof createWebhookCommands>>;

const ofAccount = declareQuery(webhooks, (account: AccountKey): Find<WebhookDocument> => ({ where: { account } }), [
  'Brand:1',
]);

export async function createWebhookCommands(deps: CommandDeps) {
  const { handler, documents, readModels, credentials, clock } = deps;
  const { secretKey, webhooksPerAccount } = deps.settings;
  const sealFor = (id: WebhookId, secret: string) => seal(secretKey, purposes.webhookSecret(id), secret);

  const load = (id: string): Promise<Webhook | undefined> => handler.load(streamOf.webhook(id), webhook);

  const execute = <E extends WebhookEvent>(
    id: string,
    context: CommandContext,
    decide: (state: Webhook | undefined, id: WebhookId) => Decision<E>,
    options?: AfterAppend,
  ) => handler.execute(streamOf.webhook(id), webhook, context, (state) => decide(state, webhookId(id)), options);

  const quota = await openWebhookQuota({
    documents,
    load,
    async existing(account) {
      const registered = await readModels.collection(webhooks).list(ofAccount(account));
      return registered.map((each) => picked(each, ['webhookId', 'credential']));
    },
    clock,
    perAccount: webhooksPerAccount,
  });

  /** The secret is shown once, here. */
  async function register(command: Registration, context: CommandContext) {
    const { owner, events } = command;
    const urlProblem = deps.urlProblem(command.url);
    const url = inAscii(command.url);
    const wrong = wrongWebhook({ url, events }, urlProblem);
    if (wrong !== undefined) return wrong;
    const id = webhookId(`wh_${randomBytes(15).toString('base64url')}`);
    const signingSecret = deps.makeSigningSecret();
    const registered = { owner, url, events, webhookId: id, sealedSecret: sealFor(id, signingSecret) };
    const refused = await quota.take(owner, id);
    if (refused !== undefined) return refused;
    const outcome = await execute(id, context, (state) => registerWebhook(state, registered, { urlProblem }));
    if (isRefusal(outcome)) {
      await quota.release(owner, id);
      return outcome;
    }
    if (outcome.at === undefined) throw new Error(`Webhook ${id} was registered without an event`);
    return { webhookId: id, url, events, createdAt: outcome.at, signingSecret };
  }

  return {
    register,

    /** Gives the registration a new secret, shown once, here. The old one also signs for another 24 h. */
    async rotate(
      { webhookId: id, ...by }: Party,
      context: CommandContext,
    ): Promise<{ readonly signingSecret: string; readonly previousUntil: Timestamp } | Refusal> {
      const signingSecret = deps.makeSigningSecret();
      const sealedSecret = sealFor(webhookId(id), signingSecret);
      const outcome = await execute(id, context, (state, webhookId) =>
        rotateWebhookSecret(state, { ...by, webhookId, sealedSecret }, { now: clock() }),
      );
      if (isRefusal(outcome)) return outcome;
      const [event] = outcome.events;
      if (event === undefined) throw new Error(`The secret of ${id} was rotated without an event`);
      return { signingSecret, previousUntil: event.data.previousUntil };
    },

    disable: (command: Party & { readonly reason: string }, context: CommandContext) =>
      execute(command.webhookId, context, (state, webhookId) => disableWebhook(state, { ...command, webhookId })),

    enable: (command: Party, context: CommandContext) =>
      execute(command.webhookId, context, (state, webhookId) => enableWebhook(state, { ...command, webhookId })),

    async remove(command: Party, context: CommandContext) {
      const id = webhookId(command.webhookId);
      const outcome = await execute(
        id,
        context,
        (state, webhookId) => removeWebhook(state, { ...command, webhookId }),
        { record: () => credentials.end(id, 'WebhookRemoved') },
      );
      if (!isRefusal(outcome) && outcome.state !== undefined) await quota.release(outcome.state.owner, id);
      return outcome;
    },

    /** The registration as it is in the log, a removed one included. */
    load,
  };
}

/** A URL with international characters in the form that is sent: Punycode and percent-encoding. Others stay unchanged. */
const inAscii = (url: string): string => (/\P{ASCII}/u.test(url) ? (URL.parse(url)?.href ?? url) : url);
