import { type Command, Option } from '@commander-js/extra-typings';
import { DELIVERY_STATES } from '../contract/delivery.ts';
import { toOperatorWebhook } from '../contract/webhook.ts';
import { refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { picked } from '../domain/picked.ts';
import type { DeliveryDocument } from '../webhooks/webhooks.ts';
import { listCommand } from './accounts.ts';
import { moment, wholeNumber } from './arguments.ts';
import { type OperatorCore, operated } from './operation.ts';
import { answer, onId, subcommand } from './subcommand.ts';

export function webhookCommands(venue: Command): void {
  const webhook = venue.command('webhook').description('manage webhook registrations and their deliveries');
  addRegistrationCommands(webhook);
  addDeliveryCommands(webhook);
}

function addRegistrationCommands(webhook: Command): void {
  const onRegistration = onId(webhook, 'registration', 'wh_Zb0…', String);
  listCommand(
    webhook,
    'webhook registrations',
    async (core, account) => {
      const all = await core.queries.operator.webhooks(account);
      return Promise.all(all.map((each) => withPause(core, each)));
    },
    { json: toOperatorWebhook, columns: REGISTRATION_COLUMNS },
  );

  onRegistration('test', 'send a Test event, without retries', async ({ webhooks }, id) =>
    answer(await webhooks.sendTest(id), (sent) => ({ json: printed(sent) })),
  );
  onRegistration('enable', 'resume deliveries to a disabled registration', async ({ commands, context }, id) =>
    answer(await commands.webhooks.enable({ webhookId: id }, context), () => ({ json: { id, status: 'enabled' } })),
  );
  const disabling = 'stop deliveries to a registration until it is enabled again';
  subcommand(webhook, 'disable', disabling, 'webhook disable wh_Zb0… --reason "Asked for by phone"')
    .argument('<id>', 'id of the registration')
    .option('--reason <text>', 'reason shown to the owner', 'Disabled by the operator.')
    .action(
      operated(async ({ commands, context }, id, { reason }) =>
        answer(await commands.webhooks.disable({ webhookId: id, reason }, context), () => ({
          json: { id, status: 'disabled' },
        })),
      ),
    );
  onRegistration('remove', 'remove a registration permanently', async ({ commands, context }, id) =>
    answer(await commands.webhooks.remove({ webhookId: id }, context), () => ({ json: { id, removed: true } })),
  );
  onRegistration(
    'rotate',
    'create a new signing secret; the old one stays valid for 24 hours',
    async ({ commands, context }, id) =>
      answer(await commands.webhooks.rotate({ webhookId: id }, context), (rotated) => ({
        json: { id, signingSecret: rotated.signingSecret, previousUntil: rotated.previousUntil },
      })),
  );
}

function addDeliveryCommands(webhook: Command): void {
  const onDelivery = onId(webhook, 'delivery, from `webhook deliveries`', '0198f2c4-…:wh_Zb0…', String);
  const listing = 'list the deliveries of a registration, newest first';
  subcommand(webhook, 'deliveries', listing, 'webhook deliveries wh_Zb0… --state Failed')
    .argument('<id>', 'id of the registration')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(DELIVERY_STATES))
    .option('--limit <count>', 'maximum number of deliveries', wholeNumber, 50)
    .action(
      operated(async ({ webhooks }, id, { state, limit }) => {
        const all = await webhooks.listDeliveries({ webhookId: id, limit, ...defined({ state }) });
        if (all.length === 0 && (await webhooks.isUnknown(id)))
          return refuse('ResourceNotFound', `There is no webhook ${id}.`);
        return {
          json: all.map(printed),
          columns: ['deliveryId', 'event', 'eventAt', 'state', 'tries', 'due', 'reason'],
        };
      }),
    );

  onDelivery('delivery', 'show a delivery with its payload and all attempts', async ({ webhooks }, id) => {
    const delivery = await webhooks.getDelivery(id);
    if (delivery === undefined) return refuse('ResourceNotFound', `There is no delivery ${id}.`);
    return { json: printed(delivery) };
  });
  onDelivery(
    'resend',
    'send a delivery again, in any state; needs a running process with the webhooks role',
    async ({ webhooks }, id) => answer(await webhooks.resend(id), (resent) => ({ json: printed(resent) })),
  );

  const recovering = 'send everything that did not reach a registration since a given time, at most 30 days back';
  subcommand(webhook, 'recover', recovering, 'webhook recover wh_Zb0… --since 2026-03-01T12:00:00Z')
    .argument('<id>', 'id of the registration')
    .requiredOption('--since <moment>', 'ISO 8601 timestamp with a time zone, or a date (midnight UTC)', moment)
    .action(
      operated(async ({ webhooks }, id, { since }) =>
        answer(await webhooks.recover(id, since), ({ due, from }) => ({
          json: { id, due, ...(from && { from }) },
          note: from && `Events before ${from} were left out: recovery goes back at most 30 days.`,
        })),
      ),
    );
}

/** A delivery as `--json` shows it. */
const printed = (delivery: DeliveryDocument) => ({
  ...picked(delivery, ['deliveryId', 'webhookId', 'account', 'eventId', 'event', 'body', 'state', 'due', 'tries']),
  attempts: delivery.attempts.map(({ error, ...attempt }) => ({
    ...picked(attempt, ['at', 'url']),
    error: error && picked(error, ['type', 'message']),
    ...picked(attempt, ['status', 'address', 'duration', 'answer', 'previousSecret']),
  })),
  ...picked(delivery, ['eventAt', 'createdAt', 'expiresAt', 'reason']),
});

type Registration = Parameters<typeof toOperatorWebhook>[0];

/** Adds the time since which deliveries are paused, if the circuit breaker is open. */
async function withPause({ webhooks }: OperatorCore, registration: Registration): Promise<Registration> {
  const { open } = await webhooks.breaker(registration.webhookId);
  return open !== undefined && registration.status === 'enabled'
    ? { ...registration, pausedSince: open.since, nextAttemptAt: open.probeAt }
    : registration;
}

const REGISTRATION_COLUMNS = [
  'id',
  'account.kind',
  'account.id',
  'url',
  'events',
  'status',
  'disabledReason',
  'pausedSince',
];
