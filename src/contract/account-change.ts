import { type AccountChange, type NamedChange, TOPICS, type Topic } from '../domain/account-change.ts';
import type { EventType, Recorded, SpaceTerms } from '../domain/events.ts';
import { permissionNames } from '../domain/permissions.ts';
import type { Readable } from '../domain/personal-text.ts';
import { toAmount } from '../domain/pricing.ts';
import { statusAfter } from '../domain/space-day.ts';
import { webhookEventNames } from '../domain/webhook.ts';
import { Changes, fieldsOfBooking, PublicActor, toPublicActor } from './history-entry.ts';
import { OneOf, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

const ChangedThing = Type.Object({
  kind: OneOf<AccountChange['of']['kind']>([
    ...(['account', 'booking', 'review', 'space', 'apiKey', 'webhook', 'user', 'client'] as const),
  ]),
  id: Type.String(),
  name: Type.Optional(Type.String({ description: 'Absent if it has none, or if it is not known any more.' })),
});

/** Something that changed for an account, as an operator sees it: the command line's JSON. */
export const OperatorAccountChange = Type.Object({
  id: Type.String({ description: 'Id of the event.' }),
  at: Timestamp('When, UTC.'),
  event: Type.Unsafe<EventType>(Type.String({ description: 'Kind of the event.' })),
  topic: OneOf<Topic>(TOPICS),
  of: ChangedThing,
  actor: PublicActor,
  changes: Changes,
  stream: Type.String({ description: 'Where the event is.' }),
  revision: Type.Integer({ minimum: 0 }),
});

const changed = shaped(OperatorAccountChange);
const thing = shaped(ChangedThing);

export const toOperatorAccountChange = (change: NamedChange): Static<typeof OperatorAccountChange> => {
  const { event, topic, of, name, by } = change;
  const { id, type, stream, revision, metadata } = event;
  return changed({
    ...{ id, at: metadata.at, event: type, topic, of: thing({ ...of, name }) },
    ...{ actor: toPublicActor(by), changes: changesOf(change), stream, revision },
  });
};

type Fields = { readonly [field: string]: string | number | undefined };

/** What an event changed, under public names and in public units. Of a space also what it was before. */
export function changesOf({ event, before }: Pick<NamedChange, 'event' | 'before'>): Static<typeof Changes> {
  const from = before === undefined ? {} : termsOf(before);
  return Object.fromEntries(
    Object.entries(fieldsOf(event)).flatMap(([field, to]) => {
      if (to === undefined) return [];
      const former = from[field];
      return [[field, former === undefined ? { to } : { from: former, to }]];
    }),
  );
}

function fieldsOf(event: Readable<Recorded>): Fields {
  switch (event.type) {
    case 'BookingRequested':
    case 'BookingApproved':
    case 'BookingCancelled':
    case 'BookingCompleted':
      return { status: statusAfter(event), ...fieldsOfBooking(event) };
    case 'ReviewPosted': {
      const { bookingId, spaceName, brandName, rating, title, content } = event.data;
      return { bookingId, spaceName, brandName, rating, title, content };
    }
    case 'CommunityAdded':
      return { name: event.data.name, timeZone: event.data.timeZone };
    case 'BrandAdded':
      return { name: event.data.name };
    case 'SpaceAdded':
      return { status: 'open', ...termsOf(event.data) };
    case 'SpaceChanged':
      return termsOf(event.data);
    case 'SpaceClosed':
      return { status: 'closed' };
    case 'SpaceOpened':
      return { status: 'open' };
    case 'ApiKeyIssued': {
      const { label, permissions, preview } = event.data;
      return { label, permissions: permissionNames(permissions).join(', '), preview };
    }
    case 'ApiKeyRevoked':
      return { status: 'revoked' };
    case 'WebhookRegistered':
      return { url: event.data.url, events: webhookEventNames(event.data.events).join(', ') };
    case 'WebhookSecretRotated':
      return { previousSecretUntil: event.data.previousUntil };
    case 'WebhookDisabled':
      return { status: 'disabled', reason: event.data.reason };
    case 'WebhookEnabled':
      return { status: 'enabled' };
    case 'WebhookRemoved':
      return { status: 'removed' };
    case 'MemberAdded':
      return { role: event.data.role };
    case 'AppConnected':
      return { userId: event.data.userId, scopes: event.data.scopes.join(' ') };
    case 'AppDisconnected':
      return { userId: event.data.userId };
    case 'ClientAdded':
      return { name: event.data.name };
    case 'SubjectForgotten':
      return { personalData: 'erased' };
    case 'MemberRemoved':
    case 'PasswordChanged':
    case 'ClientRemoved':
    case 'IdsReserved':
    case 'LogCreated':
    case 'ProjectionEventSkipped':
      return {};
    default:
      return event satisfies never;
  }
}

/** The terms of a space in public units. Those that are not there are undefined. */
function termsOf(of: Partial<SpaceTerms> & { readonly active?: boolean }): Fields {
  const { name, windowStart, windowEnd, durationHours, eventFee, answerHours, active } = of;
  return {
    status: active === undefined ? undefined : active ? 'open' : 'closed',
    ...{ name, windowStart, windowEnd, durationHours },
    eventFee: eventFee === undefined ? undefined : toAmount(eventFee),
    answerHours,
  };
}
