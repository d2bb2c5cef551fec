import { type Command, Option } from '@commander-js/extra-typings';
import { DELIVERY_STATES, toOperatorDelivery } from '../contract/delivery.ts';
import { toOperatorWebhook, toOperatorWebhookSecret } from '../contract/webhook.ts';
import { isRefusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { webhookEventNames } from '../domain/webhook.ts';
import type { Attempt } from '../webhooks/webhooks.ts';
import { namedAccount, ownedBy } from './accounts.ts';
import { moment, wholeNumber } from './arguments.ts';
import { operate } from './operation.ts';
import { fields, table } from './print.ts';

export function webhookCommands(venue: Command): void {
  const webhook = venue.command('webhook').description('manage webhook registrations and their deliveries');

  webhook
    .command('list')
    .description('list webhook registrations')
    .option('--community <id>', 'only registrations of this community', wholeNumber)
    .option('--brand <id>', 'only registrations of this brand', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue webhook list --brand 1')
    .action((named, command) => {
      const account = namedAccount(named);
      return operate(command, async (core) => {
        const { queries, webhooks } = core;
        const registered = await ownedBy(core, account, () => queries.operator.webhooks(account));
        if (isRefusal(registered)) return registered;
        const all = await Promise.all(
          registered.map(async (each) => {
            const { breaker } = await webhooks.receiver(each.webhookId);
            return breaker?.state === 'open' && each.status === 'enabled'
              ? { ...each, pausedSince: breaker.since, nextAttemptAt: breaker.probeAt }
              : each;
          }),
        );
        const rows = all.map((each) => ({
          Id: each.webhookId,
          Account: `${each.owner.kind} ${each.owner.id}`,
          Url: each.url,
          Events: webhookEventNames(each.events).join(', '),
          Status: statusOf(each),
          Created: each.createdAt,
        }));
        return { json: all.map(toOperatorWebhook), text: table(rows) };
      });
    });

  webhook
    .command('deliveries')
    .description('list the deliveries of a registration, newest first')
    .argument('<id>', 'id of the registration')
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(DELIVERY_STATES))
    .option('--limit <count>', 'maximum number of deliveries', wholeNumber, 50)
    .addHelpText('after', '\nExample:\n  venue webhook deliveries wh_Zb0… --state Failed')
    .action((id, { state, limit }, command) =>
      operate(command, async ({ webhooks }) => {
        const all = await webhooks.listDeliveries({
          webhookId: id,
          limit,
          ...defined({ state }),
        });
        if (all.length === 0 && (await webhooks.isUnknown(id)))
          return refuse('ResourceNotFound', `There is no webhook ${id}.`);
        const rows = all.map((each) => ({
          Id: each.deliveryId,
          Event: each.event,
          Happened: each.eventAt,
          State: each.state,
          Tries: each.tries,
          Due: each.state === 'Pending' ? (each.due < each.createdAt ? 'at once' : each.due) : undefined,
          Last: outcomeOf(each.attempts.at(-1)) ?? each.reason,
        }));
        return { json: all.map(toOperatorDelivery), text: table(rows) };
      }),
    );

  webhook
    .command('delivery')
    .description('show a delivery with its payload and all attempts')
    .argument('<delivery-id>', 'id of the delivery, from `webhook deliveries`')
    .addHelpText('after', '\nExample:\n  venue webhook delivery 0198f2c4-…:wh_Zb0…')
    .action((id, _, command) =>
      operate(command, async ({ webhooks }) => {
        const delivery = await webhooks.getDelivery(id);
        if (delivery === undefined) return refuse('ResourceNotFound', `There is no delivery ${id}.`);
        const attempts = delivery.attempts.map((attempt) => ({
          At: attempt.at,
          Outcome: outcomeOf(attempt),
          Milliseconds: Math.round(attempt.duration),
          Address: attempt.address,
          Url: attempt.url,
        }));
        const facts = { Event: delivery.event, State: delivery.state, Reason: delivery.reason, Payload: delivery.body };
        return { json: toOperatorDelivery(delivery), text: `${fields(facts)}\n\n${table(attempts)}` };
      }),
    );

  webhook
    .command('resend')
    .description('send a delivery again, whatever its state; needs a running process with the webhooks role')
    .argument('<delivery-id>', 'id of the delivery, from `webhook deliveries`')
    .addHelpText('after', '\nExample:\n  venue webhook resend 0198f2c4-…:wh_Zb0…')
    .action((id, _, command) =>
      operate(command, async ({ webhooks }) => {
        const resent = await webhooks.resend(id);
        return isRefusal(resent) ? resent : { json: toOperatorDelivery(resent), text: `Delivery ${id} is due now.` };
      }),
    );

  webhook
    .command('recover')
    .description('send everything that did not reach a registration since a given time, at most 30 days back')
    .argument('<id>', 'id of the registration')
    .requiredOption('--since <moment>', 'ISO 8601 timestamp with a time zone, or a date (midnight UTC)', moment)
    .addHelpText('after', '\nExample:\n  venue webhook recover wh_Zb0… --since 2026-03-01T12:00:00Z')
    .action((id, { since }, command) =>
      operate(command, async ({ webhooks }) => {
        const recovered = await webhooks.recover(id, since);
        if (isRefusal(recovered)) return recovered;
        const { due } = recovered;
        return { json: { id, due }, text: due === 1 ? '1 delivery is due now.' : `${due} deliveries are due now.` };
      }),
    );

  webhook
    .command('test')
    .description('send a Test event, without retries')
    .argument('<id>', 'id of the registration')
    .addHelpText('after', '\nExample:\n  venue webhook test wh_Zb0…')
    .action((id, _, command) =>
      operate(command, async ({ webhooks }) => {
        const sent = await webhooks.sendTest(id);
        return isRefusal(sent)
          ? sent
          : { json: toOperatorDelivery(sent), text: `Delivery ${sent.deliveryId} is due now.` };
      }),
    );

  webhook
    .command('enable')
    .description('resume deliveries to a disabled registration')
    .argument('<id>', 'id of the registration')
    .addHelpText('after', '\nExample:\n  venue webhook enable wh_Zb0…')
    .action((id, _, command) =>
      operate(command, async ({ commands }, context) => {
        const outcome = await commands.webhooks.enable({ webhookId: id }, context);
        return isRefusal(outcome) ? outcome : { json: { id, status: 'enabled' }, text: `Enabled webhook ${id}.` };
      }),
    );

  webhook
    .command('disable')
    .description('stop deliveries to a registration until it is enabled again')
    .argument('<id>', 'id of the registration')
    .option('--reason <text>', 'reason shown to the owner', 'Disabled by the operator.')
    .addHelpText('after', '\nExample:\n  venue webhook disable wh_Zb0… --reason "Asked for by phone"')
    .action((id, { reason }, command) =>
      operate(command, async ({ commands }, context) => {
        const outcome = await commands.webhooks.disable({ webhookId: id, reason }, context);
        return isRefusal(outcome) ? outcome : { json: { id, status: 'disabled' }, text: `Disabled webhook ${id}.` };
      }),
    );

  webhook
    .command('remove')
    .description('remove a registration permanently')
    .argument('<id>', 'id of the registration')
    .addHelpText('after', '\nExample:\n  venue webhook remove wh_Zb0…')
    .action((id, _, command) =>
      operate(command, async ({ commands }, context) => {
        const outcome = await commands.webhooks.remove({ webhookId: id }, context);
        return isRefusal(outcome) ? outcome : { json: { id, removed: true }, text: `Removed webhook ${id}.` };
      }),
    );

  webhook
    .command('rotate')
    .description('create a new signing secret; the old one stays valid for 24 hours')
    .argument('<id>', 'id of the registration')
    .addHelpText('after', '\nExample:\n  venue webhook rotate wh_Zb0…')
    .action((id, _, command) =>
      operate(command, async ({ commands }, context) => {
        const rotated = await commands.webhooks.rotate({ webhookId: id }, context);
        if (isRefusal(rotated)) return rotated;
        const { signingSecret, previousUntil } = rotated;
        return {
          json: toOperatorWebhookSecret({ ...rotated, webhookId: id }),
          text: fields({ Webhook: id, 'Signing secret': signingSecret, 'Old secret valid until': previousUntil }),
        };
      }),
    );
}

function statusOf(webhook: Parameters<typeof toOperatorWebhook>[0]): string {
  const { status, disabledReason, pausedSince } = webhook;
  if (disabledReason !== undefined) return `${status}: ${disabledReason}`;
  return pausedSince === undefined ? status : `paused since ${pausedSince}`;
}

/** The status, such as `200`, or the error. */
const outcomeOf = (attempt: Attempt | undefined): string | undefined =>
  attempt && (attempt.error ? `${attempt.error.type}: ${attempt.error.message}` : String(attempt.status));
