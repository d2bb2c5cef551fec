import { randomBytes } from 'node:crypto';
import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { DocumentStore, DocumentStoreOperations, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { AccountKey } from '../domain/account.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import type { WebhookEvent, WebhookOwner } from '../domain/events.ts';
import { type Timestamp, type WebhookId, webhookId } from '../domain/ids.ts';
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
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { webhook } from './aggregates.ts';
import type { Accepted, CommandContext, CommandHandler } from './command-handler.ts';
import { openWebhookQuota } from './webhook-quota.ts';

type RegisteredWebhook = Pick<WebhookDocument, 'webhookId' | 'url' | 'events' | 'createdAt'> & {
  /** Shown once, here. */
  readonly signingSecret: string;
};

type Registration = { readonly owner: WebhookOwner; readonly url: string; readonly events: number };
type Party = { readonly webhookId: string; readonly by?: WebhookParty };
type Outcome = Promise<Accepted<Webhook | undefined, WebhookEvent> | Refusal>;

export type WebhookCommands = {
  register(command: Registration, context: CommandContext): Promise<RegisteredWebhook | Refusal>;
  /** Gives the registration a new secret, shown once, here. The old one also signs for another 24 h. */
  rotate(
    command: Party,
    context: CommandContext,
  ): Promise<{ readonly signingSecret: string; readonly previousUntil: Timestamp } | Refusal>;
  disable(command: Party & { readonly reason: string }, context: CommandContext): Outcome;
  enable(command: Party, context: CommandContext): Outcome;
  remove(command: Party, context: CommandContext): Outcome;
  /** The registration as it is in the log, a removed one included. */
  load(webhookId: string): Promise<Webhook | undefined>;
};

const ofAccount = declareQuery(webhooks, (account: AccountKey): Find<WebhookDocument> => ({ where: { account } }), [
  'Brand:1',
]);

export async function createWebhookCommands(deps: {
  readonly handler: CommandHandler;
  readonly documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  readonly readModels: ReadModels;
  readonly credentials: Pick<Credentials, 'end'>;
  readonly clock: Clock;
  readonly settings: { readonly secretKey: SecretKey; readonly webhooksPerAccount: number };
  readonly makeSigningSecret: () => string;
  /** The problem of a URL to deliver to, if it has one (`src/outbound/public-address.ts`). */
  readonly urlProblem: (url: string) => string | undefined;
}): Promise<WebhookCommands> {
  const { handler, documents, readModels, credentials, clock } = deps;
  const { secretKey, webhooksPerAccount } = deps.settings;
  const sealFor = (id: WebhookId, secret: string) => seal(secretKey, purposes.webhookSecret(id), secret);

  const load = (id: string) => handler.load(streamOf.webhook(id), webhook);

  const quota = await openWebhookQuota({
    documents,
    load,
    existing: (account) =>
      Array.fromAsync(readModels.collection(webhooks).find(ofAccount(account)), ({ document }) => {
        const { webhookId, credential } = document;
        return { webhookId, credential };
      }),
    clock,
    perAccount: webhooksPerAccount,
  });

  async function register(command: Registration, context: CommandContext): Promise<RegisteredWebhook | Refusal> {
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
    const outcome = await handler.execute(streamOf.webhook(id), webhook, context, (state) =>
      registerWebhook(state, registered, { urlProblem }),
    );
    if (isRefusal(outcome)) {
      await quota.release(owner, id);
      return outcome;
    }
    if (outcome.at === undefined) throw new Error(`Webhook ${id} was registered without an event`);
    return { webhookId: id, url, events, createdAt: outcome.at, signingSecret };
  }

  return {
    register,

    async rotate({ webhookId: text, ...by }, context) {
      const id = webhookId(text);
      const signingSecret = deps.makeSigningSecret();
      const command = { ...by, webhookId: id, sealedSecret: sealFor(id, signingSecret) };
      const outcome = await handler.execute(streamOf.webhook(id), webhook, context, (state) =>
        rotateWebhookSecret(state, command, { now: clock() }),
      );
      if (isRefusal(outcome)) return outcome;
      const [event] = outcome.events;
      if (event === undefined) throw new Error(`The secret of ${id} was rotated without an event`);
      return { signingSecret, previousUntil: event.data.previousUntil };
    },

    disable: (command, context) =>
      handler.execute(streamOf.webhook(command.webhookId), webhook, context, (state) =>
        disableWebhook(state, { ...command, webhookId: webhookId(command.webhookId) }),
      ),

    enable: (command, context) =>
      handler.execute(streamOf.webhook(command.webhookId), webhook, context, (state) =>
        enableWebhook(state, { ...command, webhookId: webhookId(command.webhookId) }),
      ),

    async remove(command, context) {
      const id = webhookId(command.webhookId);
      const outcome = await handler.execute(
        streamOf.webhook(id),
        webhook,
        context,
        (state) => removeWebhook(state, { ...command, webhookId: id }),
        { record: () => credentials.end(id, 'WebhookRemoved') },
      );
      if (!isRefusal(outcome) && outcome.state !== undefined) await quota.release(outcome.state.owner, id);
      return outcome;
    },

    load,
  };
}

/** A URL with international characters in the form that is sent: Punycode and percent-encoding. Others stay unchanged. */
const inAscii = (url: string): string => (/\P{ASCII}/u.test(url) ? (URL.parse(url)?.href ?? url) : url);
