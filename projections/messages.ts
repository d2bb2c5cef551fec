import type { MessageSent } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import type { Opened } from '../src/domain/personal-text.ts';
import { projection } from './projection.ts';

/** A message of one party of a booking to the other. */
export type MessageDocument = MessageSent['data'] & {
  /** Its place among those of its booking. */
  readonly revision: number;
  readonly at: Timestamp;
};

/** A message as the parties read it. */
export type ReadableMessage = Opened<MessageDocument>;

/** Every message about a booking. */
export const messages = projection<MessageDocument, MessageSent>({
  name: 'messages',
  version: 1,
  indexes: [{ fields: ['bookingId', 'revision'] }],
  key: ({ data, revision }) => `${data.bookingId}:${revision}`,
  createdBy: ['MessageSent'],
  on: { MessageSent: (_, { data, revision, metadata }) => ({ ...data, revision, at: metadata.at }) },
});
