import { readFileSync } from 'node:fs';
import { ERROR_STATUS, type ErrorCode } from '../contract/schemas/errors.ts';
import { keysOf } from '../domain/keys-of.ts';
import { DEFAULT_ANSWER_HOURS, IDEMPOTENCY_KEY, MAX_YEARS_AHEAD } from '../domain/limits.ts';
import { Permission, type PermissionName, scopesGranting } from '../domain/permissions.ts';
import { MAX_WEBHOOKS, WEBHOOKS_PER_MINUTE } from '../domain/webhook.ts';
import { type Examples, RECORDED_AT } from './examples.ts';
import { readable } from './readable.ts';
import { baseUrlOf, type Settings } from './settings.ts';

type Section = 'overview' | 'spaces' | 'bookings' | 'customers' | 'reviews' | 'webhooks' | 'deliveries' | 'assistants';

/** What each error code means, for every operation (docs/guides/rest-api.md#errors). */
export const ERROR_MEANING: { readonly [C in ErrorCode]: string } = {
  InvalidApiKey: 'the key or token is missing, malformed, expired, revoked or for another resource',
  InsufficientPermissions: 'the key or token lacks the permission that the operation needs',
  ResourceNotFound: 'the resource does not exist, or you may not see it',
  ValidationError: 'a required field is missing, or a value is invalid',
  SlotUnavailable: 'the hour is taken, past or outside the booking window',
  BookingNotAllowed:
    `a rule forbids the booking: the date is past or more than ${MAX_YEARS_AHEAD} years ahead, the event begins too soon or ` +
    'too far ahead for the space, the space takes no bookings, the idempotency key was used',
  ScopeViolation: 'the operation is for the other kind of account',
  InternalError:
    'an unexpected error, or a store that cannot be reached; trying again with exponential backoff is safe',
};

const PERMISSION_MEANING: { readonly [P in PermissionName]: string } = {
  ReadAvailability: 'list spaces and query available time slots',
  ReadBookings: 'list bookings and read their history',
  WriteBookings: 'create booking requests (Brand accounts)',
  ReadReviews: 'read reviews',
  Webhooks: 'register, list and remove webhooks',
  Customers: 'read and add customers (Community accounts)',
};

/** A section of the guide, in Markdown, with the facts of this installation filled in. */
export function guide(section: Section, settings: Settings, examples: Examples): string {
  const facts: Readonly<Record<string, string | number>> = {
    baseUrl: baseUrlOf(settings),
    authUrl: settings.publicUrl,
    currency: settings.currency,
    feePercent: settings.serviceFeePercent,
    signingSecret: examples.signingSecret,
    answerHours: DEFAULT_ANSWER_HOURS,
    idempotencyKeyLength: IDEMPOTENCY_KEY.max,
    maxYearsAhead: MAX_YEARS_AHEAD,
    maxWebhooks: MAX_WEBHOOKS,
    webhooksPerAccount: settings.webhooksPerAccount,
    webhooksPerMinute: WEBHOOKS_PER_MINUTE,
    permissions: keysOf(Permission)
      .map(
        (name) =>
          `| \`${name}\` | ${Permission[name]} | \`${scopesGranting(name).join(' ')}\` | ${PERMISSION_MEANING[name]} |`,
      )
      .join('\n'),
    errors: keysOf(ERROR_STATUS)
      .map((code) => `| \`${code}\` | ${ERROR_STATUS[code]} | ${ERROR_MEANING[code]} |`)
      .join('\n'),
  };
  const exchanges = Object.fromEntries(
    Object.entries(examples.exchanges).map(([name, answer]) => [
      name,
      readable(answer).replaceAll(RECORDED_AT, settings.publicUrl),
    ]),
  );
  const text = readFileSync(new URL(`./guide/${section}.md`, import.meta.url), 'utf8').trim();
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const fact = facts[name] ?? exchanges[name];
    if (fact === undefined) throw new Error(`The guide asks for ${name}`);
    return String(fact);
  });
}
