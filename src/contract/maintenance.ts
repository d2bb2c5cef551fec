import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** An event that could not be turned into deliveries, as an operator sees it: the command line's JSON. */
export const OperatorParkedEvent = Type.Object({
  id: Type.String({ description: 'Identifier for `parked replay`.' }),
  type: Type.String({ description: 'The kind of event.' }),
  stream: Type.String(),
  revision: Type.Integer({ description: 'Its number in the stream.' }),
  state: Type.Union([Type.Literal('Parked'), Type.Literal('Retrying')]),
  failures: Type.Integer({ description: 'How often it failed.' }),
  reason: Type.String({ description: 'Why it failed last.' }),
  failingSince: Type.String({ format: 'date-time', description: 'When it failed first, UTC.' }),
  due: Type.String({ format: 'date-time', description: 'When it was parked, or is tried again, UTC.' }),
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

const SkippedEvent = Type.Object({
  eventId: Type.String(),
  eventType: Type.String({ description: 'The kind of event.' }),
  reason: Type.String({ description: 'Why it is left out, in the words of who decided it.' }),
  at: Type.String({ format: 'date-time', description: 'When that was decided, UTC.' }),
  by: Type.String({ description: 'Who decided it.' }),
});

const ReadModelFailure = Type.Object({
  message: Type.String(),
  attempts: Type.Integer({ description: 'Consecutive failed attempts, by any process.' }),
  event: Type.Optional(
    Type.Object(
      { id: Type.String(), type: Type.String(), position: Type.String() },
      { description: 'What it fails on.' },
    ),
  ),
});

/** A read model, for `read-model list`. */
export const OperatorReadModel = Type.Object({
  name: Type.String(),
  version: Type.Integer({
    description: 'Raised whenever its documents change shape; each version has documents of its own.',
  }),
  state: Type.Union(
    [Type.Literal('live'), Type.Literal('building'), Type.Literal('rebuilding'), Type.Literal('failing')],
    {
      description: 'building: nothing can be read yet. rebuilding: the former documents are read meanwhile.',
    },
  ),
  events: Type.Integer({ description: 'Events of the log that it shows.' }),
  failure: Type.Optional(ReadModelFailure),
  skipped: Type.Array(SkippedEvent, { description: 'Events that it leaves out.' }),
});

type Failed = Omit<Static<typeof OperatorParkedEvent>, 'id'> & { readonly eventId: string };
type Verification = Omit<Static<typeof OperatorVerification>, 'differences' | 'notVerified'> & {
  readonly differences: readonly Readonly<Static<typeof Difference>>[];
  readonly notVerified: readonly string[];
};

type ReadModel = Omit<Static<typeof OperatorReadModel>, 'failure' | 'skipped'> & {
  readonly failure?: Readonly<Static<typeof ReadModelFailure>>;
  readonly skipped: readonly Readonly<Static<typeof SkippedEvent>>[];
};

const parkedEvent = shaped(OperatorParkedEvent);
export const toOperatorParkedEvent = ({ eventId: id, ...event }: Failed): Static<typeof OperatorParkedEvent> =>
  parkedEvent({ ...event, id });

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

const readModel = shaped(OperatorReadModel);
const readModelFailure = shaped(ReadModelFailure);
const skippedEvent = shaped(SkippedEvent);
export const toOperatorReadModel = ({ failure, skipped, ...model }: ReadModel): Static<typeof OperatorReadModel> =>
  readModel({ ...model, ...(failure && { failure: readModelFailure(failure) }), skipped: skipped.map(skippedEvent) });
