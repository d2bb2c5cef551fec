import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

const checkpoint = Type.String({ description: 'The signed note (https://c2sp.org/tlog-checkpoint).' });
const proof = Type.Array(Type.String(), { description: 'Base64 of each hash, as in RFC 6962, section 2.1.' });

/** A checkpoint, for `seal`. */
export const OperatorSeal = Type.Object({
  size: Type.Integer({ description: 'How many events it seals.' }),
  checkpoint,
});

/** The key that checkpoints are checked with, for `seal-key`. */
export const OperatorSealKey = Type.Object({
  origin: Type.String({ description: 'The name of the log in its checkpoints.' }),
  key: Type.String({ description: 'The key, as the package `note` of Go reads it.' }),
});

const ProvedEvent = Type.Object({
  index: Type.Integer({ description: 'Its index in the log, from 0.' }),
  event: Type.String({ description: 'Its canonical form (RFC 8785), of which the leaf of the tree is the hash.' }),
  proof,
});

/** That the events of a booking are part of the log, for `proof`. */
export const OperatorProof = Type.Object({ checkpoint, events: Type.Array(ProvedEvent) });

const EventLabel = Type.Object({
  id: Type.String(),
  type: Type.String(),
  stream: Type.String(),
  revision: Type.Integer(),
});

const Finding = Type.Object({
  found: Type.Union([Type.Literal('cut'), Type.Literal('changed'), Type.Literal('event'), Type.Literal('tree')]),
  events: Type.Optional(Type.Integer({ description: 'cut: how many events there are.' })),
  sealed: Type.Optional(Type.Integer({ description: 'cut: how many were sealed.' })),
  from: Type.Optional(
    Type.Integer({ description: 'changed: up to before this index, all events are what was sealed.' }),
  ),
  to: Type.Optional(Type.Integer({ description: 'changed: up to before this index, one is not.' })),
  level: Type.Optional(Type.Integer({ description: 'tree: the level of the kept hash, in tiles.' })),
  index: Type.Optional(Type.Integer({ description: 'event: its index. tree: that of the hash.' })),
  kept: Type.Optional(EventLabel),
  now: Type.Optional(EventLabel),
});

const Consistency = Type.Object({
  from: Type.String({ description: 'The kept checkpoint.' }),
  to: Type.String({ description: 'The newest one of the store.' }),
  proof,
});

/** What `verify --seals` and `verify --against` found. */
export const OperatorSealVerification = Type.Object({
  events: Type.Integer({ description: 'How many events were hashed.' }),
  root: Type.String({ description: 'Base64 of the root of their tree.' }),
  confirmed: Type.Integer({ description: 'How many checkpoints the log is in keeping with.' }),
  confirmedUpTo: Type.Integer({ description: 'How many events the last of them seals.' }),
  findings: Type.Array(Finding, { description: 'What is wrong with the log.' }),
  problems: Type.Array(Type.String(), { description: 'What is wrong with the checkpoints of the store.' }),
  consistency: Type.Optional(Consistency),
});

type Label = Readonly<Static<typeof EventLabel>>;
type Found = Omit<Static<typeof Finding>, 'kept' | 'now'> & { readonly kept?: Label; readonly now?: Label };
type Verified = Omit<Static<typeof OperatorSealVerification>, 'root' | 'findings' | 'problems' | 'consistency'> & {
  readonly root: Buffer;
  readonly findings: readonly Readonly<Found>[];
  readonly problems: readonly string[];
  readonly consistency?: { readonly from: string; readonly to: string; readonly proof: readonly string[] };
};

const finding = shaped(Finding);
const eventLabel = shaped(EventLabel);
const consistencyOf = shaped(Consistency);
const sealVerification = shaped(OperatorSealVerification);
const found = ({ found: what, events, sealed, from, to, level, index, kept, now }: Found): Static<typeof Finding> =>
  finding({
    ...{ found: what, events, sealed, from, to, level, index },
    kept: kept && eventLabel(kept),
    now: now && eventLabel(now),
  });
export const toOperatorSealVerification = ({
  consistency,
  ...verified
}: Verified): Static<typeof OperatorSealVerification> =>
  sealVerification({
    ...verified,
    root: verified.root.toString('base64'),
    findings: verified.findings.map(found),
    problems: [...verified.problems],
    consistency: consistency && consistencyOf({ ...consistency, proof: [...consistency.proof] }),
  });

export const toOperatorSeal = shaped(OperatorSeal);
export const toOperatorSealKey = shaped(OperatorSealKey);

type Proofs = {
  readonly checkpoint: string;
  readonly events: readonly { readonly index: number; readonly event: string; readonly proof: readonly string[] }[];
};
const operatorProof = shaped(OperatorProof);
const provedEvent = shaped(ProvedEvent);
export const toOperatorProof = ({ checkpoint: note, events }: Proofs): Static<typeof OperatorProof> =>
  operatorProof({
    checkpoint: note,
    events: events.map(({ index, event, proof: hashes }) => provedEvent({ index, event, proof: [...hashes] })),
  });
