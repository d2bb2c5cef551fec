import type { Timestamp as Moment } from '../domain/ids.ts';
import type { Subject } from '../domain/personal-text.ts';
import { Timestamp } from './scalars.ts';
import { Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** What became of `forget`: the command line's JSON. */
export const OperatorForgotten = Type.Object({
  subject: Type.Unsafe<Subject>(Type.String({ description: 'Whose personal data was erased, such as brand:7.' })),
  forgottenAt: Type.Unsafe<Moment>(Timestamp('When, UTC.')),
  plainTexts: Type.Integer({
    description: 'Events from before texts were encrypted that hold texts of it, which cannot be erased.',
  }),
});

export const toOperatorForgotten = shaped(OperatorForgotten);
