import type { Timestamp as Moment } from '../domain/ids.ts';
import type { Subject } from '../domain/personal-text.ts';
import { Timestamp } from './scalars.ts';
import { Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** What became of `forget`: the command line's JSON. */
export const OperatorForgotten = Type.Object({
  subject: Type.Unsafe<Subject>(Type.String({ description: 'Whose personal data was erased, such as brand:7.' })),
  forgottenAt: Type.Unsafe<Moment>(Timestamp('When, UTC.')),
});

export const toOperatorForgotten = shaped(OperatorForgotten);

/** A copy of everything that is held of a subject: the command line's JSON. What it holds is shown whole, because that is the point. */
export const OperatorPersonalCopy = Type.Object({
  subject: Type.Unsafe<Subject>(Type.String({ description: 'Whose copy it is, such as brand:7.' })),
  name: Type.Optional(Type.String({ description: 'The name of the account, or the e-mail address of the user.' })),
  copiedAt: Type.Unsafe<Moment>(Timestamp('When, UTC.')),
  events: Type.Array(Type.Unknown(), {
    description: 'The events that name it, in order: id, stream, revision, type, data and metadata.',
  }),
  records: Type.Array(Type.Unknown(), {
    description: 'The records that name it besides, by collection and key.',
  }),
});

export const toOperatorPersonalCopy = shaped(OperatorPersonalCopy);
