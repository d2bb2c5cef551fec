import { purposes } from '../../src/secrets/purposes.ts';
import { unseal } from '../../src/secrets/seal.ts';
import type { Party, Session } from './house.ts';
import type { Member } from './member.ts';
import type { Operation, Seen } from './space-day.ts';

/** An account that takes part, signed in to the console. */
export type Player = Party & { readonly session: Session };
export type SpaceDay = { readonly id: number; readonly date: string };
/** Who calls, the process that is asked, and how long its answer is waited for. */
export type Caller = {
  readonly name: string;
  readonly player: Player;
  readonly member: Member;
  readonly patienceMs: number;
};
export type Decision = 'approve' | 'decline' | 'cancel';

type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };

/** An answer that no promise allows. */
export class Unexpected extends Error {}

/** Makes calls on one space-day, and keeps what they showed. */
export class Recorder {
  readonly operations: Operation[] = [];
  /** Ids of bookings by their names, which are their idempotency keys and messages. */
  readonly ids = new Map<string, number>();
  /** The names of the requests that were not refused. Each begins with the name of its brand. */
  readonly #names = new Set<string>();
  readonly #spaceDay: SpaceDay;
  readonly #secretKey: Buffer;

  /** @param secretKey opens the messages of the console */
  constructor(spaceDay: SpaceDay, secretKey: Buffer) {
    this.#spaceDay = spaceDay;
    this.#secretKey = secretKey;
  }

  async request(caller: Caller, name: string, hour: number): Promise<void> {
    const { id: spaceId, date } = this.#spaceDay;
    this.#names.add(name);
    const body = JSON.stringify({ spaceId, startTime: date, startHour: hour, message: name });
    const headers = { 'content-type': 'application/json', 'idempotency-key': `${spaceId} ${date} ${name}` };
    await this.#rest(caller, '/bookings', { method: 'POST', headers, body }, (answer) => {
      const operation = { do: 'request', booking: name, hour } as const;
      if (answer === undefined) return [{ ...operation, answer: undefined }];
      const { id, message, error } = JSON.parse(answer.text);
      if (answer.status === 422 && error === 'SlotUnavailable') {
        this.#names.delete(name);
        return [{ ...operation, answer: 'refused' }];
      }
      if (answer.status !== 201) throw unexpected(answer);
      this.#learn(message, id);
      return [{ ...operation, answer: 'accepted' }];
    });
  }

  /** Sends a form of the console. */
  async decide(caller: Caller, decision: Decision, name: string): Promise<void> {
    const { cookie, csrf } = caller.player.session;
    const isDecline = decision === 'decline' && caller.player.name === 'community';
    const step = decision === 'approve' ? 'approve' : isDecline ? 'decline' : 'cancel';
    const was = decision === 'decline' ? 'Pending' : 'Approved';
    const body = new URLSearchParams({ csrf, was, reason: 'For a history.' });
    const path = `/console/bookings/${this.ids.get(name)}/${step}`;
    await this.#call(caller, path, { method: 'POST', headers: { cookie }, body, redirect: 'manual' }, (answer) => {
      const operation = { do: decision, booking: name } as const;
      if (answer === undefined) return [{ ...operation, answer: undefined }];
      // The read model of bookings does not show it.
      if (answer.status === 404) return [{ do: 'read', booking: name, answer: 'absent' }];
      if (answer.status !== 303) throw unexpected(answer);
      return [{ ...operation, answer: this.#isDone(answer) ? 'accepted' : 'refused' }];
    });
  }

  async availability(caller: Caller): Promise<void> {
    const { id, date } = this.#spaceDay;
    await this.#rest(caller, `/spaces/${id}/availability?date=${date}`, {}, (answer) => {
      if (answer === undefined) return [];
      if (answer.status !== 200) throw unexpected(answer);
      const { timeSlots }: { timeSlots: readonly { hour: number; isAvailable: boolean }[] } = JSON.parse(answer.text);
      const open = timeSlots.filter(({ isAvailable }) => isAvailable).map(({ hour }) => hour);
      return [{ do: 'availability', answer: open }];
    });
  }

  /** What a list shows of each booking that the caller may see. */
  async list(caller: Caller): Promise<void> {
    const { id, date } = this.#spaceDay;
    const names = [...this.#names].filter((name) => isVisible(name, caller.player));
    await this.#rest(caller, `/bookings?startDate=${date}&endDate=${date}`, {}, (answer) => {
      if (answer === undefined) return [];
      if (answer.status !== 200) throw unexpected(answer);
      const shown: readonly ShownBooking[] = JSON.parse(answer.text);
      const statuses = new Map<string, ShownBooking['status']>();
      for (const booking of shown.filter(({ spaceId }) => spaceId === id)) {
        if (!isVisible(booking.message, caller.player)) throw unexpected(answer);
        this.#learn(booking.message, booking.id);
        statuses.set(booking.message, booking.status);
      }
      const all = new Set([...names, ...statuses.keys()]);
      return [...all].map((name) => ({ do: 'read', booking: name, answer: statuses.get(name) ?? 'absent' }));
    });
  }

  async booking(caller: Caller, name: string): Promise<void> {
    await this.#rest(caller, `/bookings/${this.ids.get(name)}`, {}, (answer) => {
      if (answer === undefined) return [];
      if (answer.status === 404) return [{ do: 'read', booking: name, answer: 'absent' }];
      if (answer.status !== 200) throw unexpected(answer);
      const { status }: ShownBooking = JSON.parse(answer.text);
      return [{ do: 'read', booking: name, answer: status }];
    });
  }

  /** A booking keeps its id. */
  #learn(name: string, id: number): void {
    const before = this.ids.get(name);
    if (before !== undefined && before !== id) throw new Unexpected(`${name} is booking ${before} and ${id}`);
    this.ids.set(name, id);
  }

  /** Whether the message of the next page says that it was done. */
  #isDone({ headers }: Answer): boolean {
    const cookie = headers.getSetCookie().find((line) => line.startsWith(`${FLASH}=`));
    const sealed = decodeURIComponent(cookie?.slice(FLASH.length + 1).split(';', 1)[0] ?? '');
    return JSON.parse(unseal(this.#secretKey, purposes.consoleCookie(FLASH), sealed)).flash.kind === 'done';
  }

  #rest(caller: Caller, path: string, { headers, ...init }: RequestInit, seenIn: SeenIn): Promise<void> {
    const authorization = `Bearer ${caller.player.apiKey}`;
    return this.#call(caller, `/api/v1${path}`, { ...init, headers: { authorization, ...headers } }, seenIn);
  }

  async #call({ name, member, patienceMs }: Caller, path: string, init: RequestInit, seenIn: SeenIn): Promise<void> {
    const calledAt = performance.now();
    const answer = await send(`${member.url}${path}`, { ...init, signal: AbortSignal.timeout(patienceMs) });
    const endedAt = performance.now();
    if (answer === 'not sent') return;
    if (answer?.text.includes('An unexpected error occurred')) throw unexpected(answer);
    const isFailure = answer === undefined || answer.status >= 500;
    const spaceDay = `${this.#spaceDay.id} ${this.#spaceDay.date}`;
    for (const seen of seenIn(isFailure ? undefined : answer)) {
      const answeredAt = seen.answer === undefined ? Number.POSITIVE_INFINITY : endedAt;
      this.operations.push({ ...seen, spaceDay, by: `${name} at ${member.name}`, calledAt, answeredAt });
    }
  }
}

/** What an answer shows. Undefined: there was none, or it does not tell the outcome. */
type SeenIn = (answer: Answer | undefined) => readonly Seen[];
type ShownBooking = {
  readonly id: number;
  readonly spaceId: number;
  readonly message: string;
  readonly status: 'Pending' | 'Approved' | 'Cancelled';
};

const FLASH = 'console_flash';

export const isVisible = (name: string, { name: viewer }: Pick<Player, 'name'>): boolean =>
  viewer === 'community' || name.startsWith(viewer);

const unexpected = ({ status, text }: Answer) => new Unexpected(`${status} ${text.slice(0, 300)}`);

/** Undefined if no answer came. */
async function send(url: string, init: RequestInit): Promise<Answer | 'not sent' | undefined> {
  try {
    const response = await fetch(url, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    return isRefusedConnection(error) ? 'not sent' : undefined;
  }
}

const isRefusedConnection = (error: unknown): boolean =>
  error instanceof Error &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  error.cause.code === 'ECONNREFUSED';
