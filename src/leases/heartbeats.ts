import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Collection, DocumentStore, Documents, Stored } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { inRounds } from '../event-loop/rounds.ts';
import { startTimer } from '../event-loop/timer.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { isKnownDead, type ProcessIdentity, THIS_PROCESS } from '../runtime/process-liveness.ts';

/** @template S the status that each process publishes with every beat */
export type Heartbeats<S extends object> = Awaited<ReturnType<typeof startHeartbeats<S>>>;

type Living<S> = { readonly session: string; readonly status: S };

type HeartbeatDocument<S> = ProcessIdentity & {
  readonly status: S;
  /** The time of the beat by the clock of the machine, in milliseconds since the epoch. */
  readonly at: number;
};

/** Beats per allowed silence: two may fail without a loss of leases. */
const BEATS_PER_SILENCE = 4;
/** A beat each second, at the same wake-ups as the other periodic jobs. */
const SILENCE_MS = 4_000;
/** A read of the heartbeats is reused for this long. */
const READ_AGAIN_MS = 200;
/** How long the document of a silent process is kept. */
const KEEP_SILENT_MS = 10 * 60_000;

/**
 * Starts the heartbeat of this process: a document whose version grows with every beat. A process judges another by how long its document has
 * not changed, on its own monotonic clock (docs/decisions/processes.md#leases). The time in it only shows whether the clocks of machines agree.
 * Resolves after the first beat, once the other processes are known.
 */
export async function startHeartbeats<S extends object>(deps: {
  readonly documents: DocumentStore;
  /** The first status of this process. */
  readonly status: S;
  /** How long a process may be silent before others consider it dead, in milliseconds. Default 4 s. */
  readonly silenceMs?: number;
  readonly wall?: Clock;
}) {
  const { silenceMs = SILENCE_MS, wall = systemClock() } = deps;
  const periodMs = silenceMs / BEATS_PER_SILENCE;
  const session = randomUUID();
  const heartbeats = await deps.documents.open(collection<S>());
  const watch = watchHeartbeats(heartbeats, session);
  const stopping = new AbortController();
  const listeners: ((silentMs: number) => void)[] = [];
  let status = deps.status;
  let stored: Stored<HeartbeatDocument<S>> | undefined;
  let sinceLastBeat = () => Number.POSITIVE_INFINITY;
  let beating: Promise<void> | undefined;

  async function write(): Promise<void> {
    const sinceStart = startTimer();
    const document = { ...THIS_PROCESS, status, at: wall() };
    let unbroken = false;
    const change = (before: object | undefined) => {
      // Absent before the first beat, and if another process has considered this one dead and removed the document.
      unbroken = before !== undefined;
      return document;
    };
    ({ stored } = await heartbeats.update(session, change, { stored }));
    const silentMs = unbroken ? sinceLastBeat() : Number.POSITIVE_INFINITY;
    sinceLastBeat = sinceStart;
    // Before anything else can fail or take long: after this beat, a lease that others may have taken would count as held again.
    for (const listener of listeners) listener(silentMs);
    await watch.read();
  }

  /** One beat at a time, because each builds on the version of the one before. */
  function beat(): Promise<void> {
    const next = (beating ?? Promise.resolve()).then(write, write);
    beating = next.catch(() => {});
    return next;
  }

  await beat();
  // The next beat makes up for a failed one. After several, other processes consider this one dead.
  const running = inRounds(periodMs, stopping.signal, () => beat().catch(() => {}));

  const others = () => watch.observations().filter(({ key, silentMs }) => key !== session && silentMs < silenceMs);
  const lastSeen = (): Living<S>[] =>
    watch
      .observations()
      .filter(({ key, silentMs }) => key === session || silentMs < silenceMs)
      .map((each) => ({ session: each.key, status: each.key === session ? status : each.status }));

  return {
    /** The id of this process in the heartbeats. */
    session,
    /** How long a process may be silent before others consider it dead, in milliseconds. */
    silenceMs,
    /** Milliseconds since this process's last stored beat began. No other process can have seen it unchanged for longer. */
    sinceLastBeat: (): number => sinceLastBeat(),
    /** Changes the status that this process publishes from its next beat on. */
    announce(change: Partial<S>): void {
      status = { ...status, ...change };
    },
    /** Beats immediately. Rejects if the store fails. */
    beat,
    /**
     * Whether a process has been silent for so long, as seen by this one, or has ended, or never existed. True only by a read that began
     * after this call.
     */
    isSilent: async (other: string, forMs: number): Promise<boolean> =>
      other === session ? sinceLastBeat() >= forMs : await watch.isSilent(other, forMs),
    /** The live processes, including this one, with the last status of each. */
    async living(): Promise<readonly Living<S>[]> {
      await watch.read();
      return lastSeen();
    },
    /** The same, once each has been seen to beat or has been silent for too long: a process that just started cannot tell them apart. */
    async confirmed(): Promise<readonly Living<S>[]> {
      await watch.read();
      while (others().some(({ isFresh }) => !isFresh)) {
        await delay(READ_AGAIN_MS);
        await watch.read();
      }
      return lastSeen();
    },
    /** The same as of the last beat, without a read. */
    lastSeen,
    /**
     * How far the clock of this machine is ahead of that of each other live process, in milliseconds. Undefined for one that has not
     * beaten since this process started: it may have ended before.
     */
    clockLeads: (): readonly (number | undefined)[] =>
      others().map(({ at, since, isFresh }) => (isFresh ? wall() - (at + performance.now() - since) : undefined)),
    /** Calls `listener` after every stored beat with the longest silence that other processes may have seen. */
    onBeat: (listener: (silentMs: number) => void): void => void listeners.push(listener),
    /** Stops and marks this process as ended. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
      await beating;
      await heartbeats.delete(session).catch(() => {});
    },
  };
}

type Observation<S> = {
  readonly key: string;
  readonly version: number;
  /** When this process first saw that version (monotonic). */
  readonly since: number;
  readonly status: S;
  readonly at: number;
  /** Whether it was written while this process watched, and so just before `since`. */
  readonly isFresh: boolean;
};

/** Tracks how long each heartbeat has been unchanged. Removes those of processes that have ended. */
function watchHeartbeats<S extends object>(heartbeats: Documents<HeartbeatDocument<S>>, session: string) {
  let observations = new Map<string, Observation<S>>();
  let isFirstRead = true;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function readNow(): Promise<void> {
    const now = performance.now();
    const next = new Map<string, Observation<S>>();
    for await (const { key, version, document } of heartbeats.find(everyDocument())) {
      const before = observations.get(key);
      // Only now: the store may have answered late, with a beat that came after the question.
      const since = before?.version === version ? before.since : performance.now();
      const isGone = key !== session && (isKnownDead(document) || now - since > KEEP_SILENT_MS);
      if (isGone) await heartbeats.delete(key, version);
      else {
        const isFresh = before === undefined ? !isFirstRead : before.isFresh || version !== before.version;
        next.set(key, { key, version, since, status: document.status, at: document.at, isFresh });
      }
    }
    isFirstRead = false;
    observations = next;
    readAt = now;
  }

  /** Reads which processes have beaten since the last read. */
  function read(): Promise<void> {
    reading ??= readNow().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  /** Counts only up to the last read, so that a pause of this process does not count as silence of another. */
  const silenceOf = (heartbeat: Observation<S> | undefined): number =>
    heartbeat === undefined ? Number.POSITIVE_INFINITY : Math.max(0, readAt - heartbeat.since);

  return {
    read,
    /** All heartbeats as of the last read, with how long each process had been silent, in milliseconds. */
    observations: () => Array.from(observations.values(), (each) => ({ ...each, silentMs: silenceOf(each) })),
    async isSilent(other: string, forMs: number): Promise<boolean> {
      const isAlive = () => silenceOf(observations.get(other)) < forMs;
      if (performance.now() - readAt < READ_AGAIN_MS && isAlive()) return false;
      // A silence that was seen before may have ended since, and that of a read under way, too.
      await reading?.catch(() => {});
      await read();
      return !isAlive();
    },
  };
}

/** Stored with the read models: a power failure that loses the last beats also ends the processes. */
const collection = <S>(): Collection<HeartbeatDocument<S>> => ({ name: 'heartbeats', kind: 'readModel', indexes: [] });

/** Whether any process beats on the store. Watches for longer than the allowed silence, unless there are no heartbeats. */
export async function hasLiveProcess(documents: Pick<DocumentStore, 'open'>): Promise<boolean> {
  const heartbeats = await documents.open(collection<object>());
  const versions = async () => {
    const result = new Map<string, number>();
    for await (const { key, version, document } of heartbeats.find(everyDocument()))
      if (!isKnownDead(document)) result.set(key, version);
    return result;
  };
  const before = await versions();
  if (before.size === 0) return false;
  await delay(SILENCE_MS + SILENCE_MS / BEATS_PER_SILENCE);
  return [...(await versions())].some(([key, version]) => before.get(key) !== version);
}
