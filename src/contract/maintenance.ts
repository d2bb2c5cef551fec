import { type Static, Type } from 'typebox';
import { shaped } from './shaped.ts';

/** An event that failed too often and was set aside, as an operator sees it: the command line's JSON. */
export const OperatorParkedEvent = Type.Object({
  id: Type.String({ description: 'Identifier for `parked replay`.' }),
  type: Type.String({ description: 'The kind of event.' }),
  stream: Type.String(),
  revision: Type.Integer({ description: 'Its number in the stream.' }),
  reason: Type.String({ description: 'Why it failed.' }),
  parkedAt: Type.String({ format: 'date-time', description: 'When it was set aside, UTC.' }),
});

const Difference = Type.Object({
  projection: Type.String({ description: 'The read model.' }),
  key: Type.String({ description: 'The key of the document.' }),
  expected: Type.Optional(
    Type.Unknown({ description: 'The whole document as replayed; absent if there should be none.' }),
  ),
  actual: Type.Optional(Type.Unknown({ description: 'The whole document as stored; absent if there is none.' })),
});

/** What `verify` found. The differing documents are shown whole, because how they differ is the point. */
export const OperatorVerification = Type.Object({
  position: Type.String({ description: 'Position of the read models in the log.' }),
  events: Type.Integer({ description: 'How many events were replayed.' }),
  documents: Type.Integer({ description: 'How many documents were compared.' }),
  differences: Type.Array(Difference, { description: 'The first differences found.' }),
  notVerified: Type.Array(Type.String(), { description: 'Read models that were skipped.' }),
});

type Parked = Omit<Static<typeof OperatorParkedEvent>, 'type' | 'stream' | 'revision'> & {
  readonly event: Pick<Static<typeof OperatorParkedEvent>, 'type' | 'stream' | 'revision'>;
};
type Verification = Omit<Static<typeof OperatorVerification>, 'differences' | 'notVerified'> & {
  readonly differences: readonly Readonly<Static<typeof Difference>>[];
  readonly notVerified: readonly string[];
};

const parkedEvent = shaped(OperatorParkedEvent);
export const toOperatorParkedEvent = ({ event, ...parked }: Parked): Static<typeof OperatorParkedEvent> => {
  const { type, stream, revision } = event;
  return parkedEvent({ ...parked, type, stream, revision });
};

const difference = shaped(Difference);
const verification = shaped(OperatorVerification);
export const toOperatorVerification = (found: Verification): Static<typeof OperatorVerification> =>
  verification({
    ...found,
    differences: found.differences.map(({ projection, key, expected, actual }) =>
      difference({ projection, key, expected, actual }),
    ),
    notVerified: [...found.notVerified],
  });
