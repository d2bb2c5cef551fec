import { createRandom, type Random } from '../soak/random.ts';
import { RATE } from './process.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const MONTH_MS = (30 * DAY_MS) / RATE;
export const PROCESSES = 3;

/** What clients and operators do. Indices count what there is at that moment, from its end or around it. */
export type Action =
  | {
      readonly do: 'request';
      readonly brand: number;
      readonly space: number;
      readonly day: number;
      readonly hour: number;
      readonly hasKey: boolean;
    }
  | { readonly do: 'approve'; readonly booking: number }
  | { readonly do: 'cancel'; readonly booking: number; readonly by: 'Brand' | 'Community' }
  | {
      readonly do: 'move';
      readonly booking: number;
      readonly by: 'Brand' | 'Community';
      readonly space: number;
      readonly day: number;
      readonly hour: number;
    }
  | {
      readonly do: 'answerMove';
      readonly booking: number;
      readonly by: 'Brand' | 'Community';
      readonly accepts: boolean;
    }
  | { readonly do: 'review'; readonly booking: number }
  | { readonly do: 'close'; readonly space: number; readonly day: number; readonly hour: number }
  | { readonly do: 'endClosed'; readonly closed: number }
  | { readonly do: 'setRole'; readonly role: 'Viewer' | 'Coordinator' }
  | { readonly do: 'leave' }
  | { readonly do: 'join' }
  | { readonly do: 'register'; readonly account: number; readonly events: number }
  | { readonly do: 'unregister'; readonly webhook: number };

const CALL_FAULTS = ['fails', 'loses answers', 'is slow', 'hangs'] as const;
const RECEIVER_FAULTS = ['refuses', 'is away', 'hangs', 'takes it and hangs', 'is slow'] as const;
const MAIL_FAULTS = ['refuses', 'is away', 'hangs', 'takes it and breaks off', 'is slow'] as const;
const GROUP_FAULTS = ['forgets', 'repeats', 'reorders'] as const;

/** What goes wrong for some time. */
export type Fault = { readonly forMs: number } & (
  | { readonly fault: 'kill' | 'stop' | 'freeze'; readonly process: number }
  | { readonly fault: 'clock'; readonly process: number; readonly byMs: number }
  | {
      readonly fault: 'calls';
      readonly store: 'events' | 'documents';
      /** Absent: of all processes. */
      readonly process?: number;
      readonly how: (typeof CALL_FAULTS)[number];
      readonly percent: number;
    }
  | { readonly fault: 'group'; readonly how: (typeof GROUP_FAULTS)[number] }
  | { readonly fault: 'receiver'; readonly receiver: number; readonly how: (typeof RECEIVER_FAULTS)[number] }
  | { readonly fault: 'mail'; readonly how: (typeof MAIL_FAULTS)[number] }
);

/** Something of a plan, so many milliseconds after its begin. `via`: the process that a client asks first. */
export type Entry = { readonly id: number; readonly at: number } & ((Action & { readonly via: number }) | Fault);

export type Plan = {
  readonly seed: number;
  /** When the calendar begins. */
  readonly begin: string;
  readonly entries: readonly Entry[];
};

/** Months with changes of clocks, a leap day, and the end of a year among them. */
const BEGINS = ['2027-03-05', '2027-10-05', '2026-12-10', '2028-02-12', '2027-06-01'] as const;
const BURSTS = 60;
const FAULTS = 45;
const MOVES = 15;
const CLOCK_ERRORS = [-20_000, 20_000, -300_000, 300_000, -7_200_000, 7_200_000] as const;

/** The plan of a month that follows from a seed. */
export function planOf(seed: number): Plan {
  const random = createRandom(seed);
  const bursts = Array.from({ length: BURSTS }, () => random.between(0, MONTH_MS));
  const actions = bursts.flatMap((burst) =>
    Array.from({ length: random.between(1, 5) }, () => ({
      at: burst + random.pick([0, random.between(0, 50), random.between(0, 5_000)]),
      ...actionBy(random),
      via: random.between(0, PROCESSES - 1),
    })),
  );
  const faults = Array.from({ length: FAULTS }, () => {
    // Most of them while something is done.
    const near = random.pick([...bursts, random.between(0, MONTH_MS)]);
    return { at: Math.max(0, near + random.between(-8_000, 1_000)), ...faultBy(random) };
  });
  const leaving = faults.flatMap((fault) => (fault.fault === 'mail' ? leavingDuring(fault, random) : []));
  const moving = Array.from({ length: MOVES }, () => movingAt(random.pick(bursts), random)).flat();
  const entries = [...actions, ...faults, ...leaving, ...moving]
    .toSorted((a, b) => a.at - b.at)
    .map((entry, id): Entry => ({ id, ...entry }));
  return { seed, begin: `${random.pick(BEGINS)}T00:00:00Z`, entries };
}

/** A member leaves while mails wait for the server. */
function leavingDuring({ at, forMs }: Fault & { readonly at: number }, { between }: Random) {
  const [via, space, hour] = [between(0, PROCESSES - 1), between(0, 1), between(9, 20)];
  return [
    { at: at + 50, do: 'join', via },
    { at: at + 1_500, do: 'request', via, brand: 0, space, day: 1, hour, hasKey: true },
    { at: at + 3_000, do: 'leave', via },
    { at: at + forMs + 30_000, do: 'join', via },
  ] as const;
}

/** A request is moved to another day or hour as both parties want it, and perhaps once more. */
function movingAt(at: number, { between, pick }: Random) {
  const via = () => between(0, PROCESSES - 1);
  const space = between(0, 2);
  const by = pick(['Brand', 'Community'] as const);
  const other = by === 'Brand' ? 'Community' : 'Brand';
  const move = { do: 'move', booking: 0, by, space: pick([space, space, between(0, 2)]) } as const;
  const answer = { do: 'answerMove', booking: 0, by: other, accepts: true } as const;
  const [asked, answered] = [at + between(500, 4_000), at + between(4_000, 8_000)];
  return [
    {
      at,
      via: via(),
      do: 'request',
      brand: between(0, 1),
      space,
      day: between(2, 4),
      hour: between(9, 19),
      hasKey: true,
    },
    { at: asked, via: via(), ...move, day: between(2, 4), hour: between(9, 19) },
    { at: answered, via: via(), ...answer },
    { at: answered + pick([0, 5]), via: via(), ...answer },
  ] as const;
}

function actionBy({ between, pick }: Random): Action {
  const kind = pick([
    ...Array.from({ length: 8 }, () => 'request' as const),
    ...Array.from({ length: 6 }, () => 'approve' as const),
    ...(['cancel', 'cancel', 'review', 'close', 'endClosed'] as const),
    ...(['move', 'move', 'move', 'answerMove', 'answerMove', 'answerMove'] as const),
    ...(['setRole', 'leave', 'join', 'register', 'unregister'] as const),
  ]);
  const booking = pick([0, 0, 1, between(0, 5)]);
  switch (kind) {
    case 'request':
      return {
        do: kind,
        brand: between(0, 1),
        space: between(0, 2),
        day: between(0, 4),
        hour: between(0, 23),
        hasKey: pick([true, true, false]),
      };
    case 'approve':
      return { do: kind, booking };
    case 'cancel':
      return { do: kind, booking, by: pick(['Brand', 'Community'] as const) };
    case 'review':
      return { do: kind, booking };
    case 'move': {
      const by = pick(['Brand', 'Community'] as const);
      return { do: kind, booking, by, space: between(0, 2), day: between(0, 4), hour: between(0, 23) };
    }
    case 'answerMove':
      return { do: kind, booking, by: pick(['Brand', 'Community'] as const), accepts: pick([true, true, false]) };
    case 'close':
      return { do: kind, space: between(0, 2), day: between(0, 4), hour: between(0, 20) };
    case 'endClosed':
      return { do: kind, closed: between(0, 3) };
    case 'setRole':
      return { do: kind, role: pick(['Viewer', 'Coordinator'] as const) };
    case 'register':
      return { do: kind, account: between(0, 3), events: between(1, 31) };
    case 'unregister':
      return { do: kind, webhook: between(0, 5) };
    default:
      return { do: kind };
  }
}

function faultBy({ between, pick }: Random): Fault {
  const forMs = pick([between(10, 1_000), between(1_000, 8_000), between(5_000, 25_000)]);
  const process = between(0, PROCESSES - 1);
  const fault = pick([
    ...(['kill', 'kill', 'stop', 'freeze', 'freeze', 'clock'] as const),
    ...(['calls', 'calls', 'calls', 'calls', 'group', 'receiver', 'receiver', 'mail'] as const),
  ]);
  switch (fault) {
    case 'clock':
      return { fault, forMs, process, byMs: pick(CLOCK_ERRORS) };
    case 'calls': {
      const of = {
        store: pick(['events', 'documents'] as const),
        how: pick(CALL_FAULTS),
        percent: pick([10, 50, 100]),
      };
      return { fault, forMs, ...of, ...(pick([true, false]) && { process }) };
    }
    case 'group':
      return { fault, forMs, how: pick(GROUP_FAULTS) };
    case 'receiver':
      return { fault, forMs, receiver: between(0, 3), how: pick(RECEIVER_FAULTS) };
    case 'mail':
      return { fault, forMs: 2 * forMs, how: pick(MAIL_FAULTS) };
    default:
      return { fault, forMs, process };
  }
}
