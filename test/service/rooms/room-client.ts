import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Page } from '../../browser.ts';
import type { Member } from '../../linearizability/member.ts';
import type { Player } from '../../linearizability/recorder.ts';
import { jpeg } from '../../photos/pictures.ts';
import type { Random } from '../../soak/random.ts';
import type { Change, Place } from './change.ts';

/** What the clients of one run share. */
export type Rooms = {
  readonly members: readonly Member[];
  readonly community: Player;
  readonly places: readonly Place[];
  /** Files that are stored already, and that no list names at first. */
  readonly files: readonly Buffer[];
  readonly changes: Set<Change>;
  /** What a client saw that no promise allows. */
  readonly broken: string[];
  /** How many photos were seen. */
  photosSeen: number;
  nextMark: number;
};

/** How long a client waits for an answer, and between two changes: an account may send 1,000 forms a minute. */
const PATIENCE_MS = 4_000;
const [SHORTEST_REST_MS, LONGEST_REST_MS] = [50, 400];
const STEPS = ['describe', 'describe', 'add', 'add', 'tell', 'remove', 'remove', 'look', 'look'] as const;

/** Describes rooms, and adds, describes, moves and removes photos, each time through any process. */
export class RoomClient {
  readonly #rooms: Rooms;
  readonly #random: Random;

  constructor(rooms: Rooms, random: Random) {
    this.#rooms = rooms;
    this.#random = random;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await delay(this.#random.between(SHORTEST_REST_MS, LONGEST_REST_MS));
      await this.#step(this.#random.pick(this.#rooms.places), this.#random.pick(STEPS));
    }
  }

  async #step(place: Place, step: (typeof STEPS)[number]): Promise<void> {
    if (step === 'add') return this.#add(place);
    if (step === 'describe') return place === 'house' ? undefined : this.#describe(place);
    const page = await this.#open(photosPath(place));
    const names = page === undefined ? [] : namesIn(page);
    if (page === undefined || names.length === 0) return undefined;
    const name = this.#random.pick(names);
    if (step === 'look') return this.#look(name);
    return step === 'tell' ? this.#tell(place, page, names) : this.#remove(place, page, name);
  }

  async #describe(place: number): Promise<void> {
    const page = await this.#open(`/console/spaces/${place}/description`);
    if (page === undefined) return;
    const mark = String(this.#mark());
    const { target, body } = page.form('/description', { area: mark, about: aboutOf(mark) });
    await this.#change({ place, what: 'described', mark }, target.pathname, body);
  }

  async #add(place: Place): Promise<void> {
    const { community, files } = this.#rooms;
    const isNew = this.#random.between(0, 4) === 0;
    const bytes = isNew ? await jpeg(colourOf(this.#mark() * 101), 200, 150) : this.#random.pick(files);
    const body = new FormData();
    body.append('csrf', community.session.csrf);
    body.append('photo', new Blob([new Uint8Array(bytes)]), 'photo.jpg');
    await this.#change({ place, what: 'added', mark: nameOf(bytes) }, photosPath(place), body);
  }

  /** Says what the first photo shows, and moves it behind the next one. */
  async #tell(place: Place, page: Page, names: readonly string[]): Promise<void> {
    const [first] = names;
    const mark = `Words ${this.#mark()}`;
    const { alts } = altsIn(page);
    const { target, body } = page.form('/order', { do: `later:${first}`, alt: [mark, ...alts.slice(1)] });
    await this.#change({ place, what: 'told', mark }, target.pathname, body);
  }

  async #remove(place: Place, page: Page, name: string): Promise<void> {
    const { target, body } = page.form('/order', { do: `remove:${name}` });
    await this.#change({ place, what: 'removed', mark: name }, target.pathname, body);
  }

  /** A photo that was named a moment ago is there. */
  async #look(name: string): Promise<void> {
    const answer = await this.#send(`/photos/${name}/${this.#random.pick([400, 800, 1_600])}.webp`);
    if (answer === undefined || answer.status >= 500) return;
    if (answer.status === 200) this.#rooms.photosSeen += 1;
    else this.#rooms.broken.push(`The photo ${name} is not there: ${answer.status}`);
  }

  async #open(path: string): Promise<Page | undefined> {
    const answer = await this.#send(path);
    return answer?.status === 200 ? new Page(answer) : undefined;
  }

  /** Notes a change before it is sent, and forgets one that was refused. */
  async #change(wanted: Pick<Change, 'place' | 'what' | 'mark'>, path: string, body: URLSearchParams | FormData) {
    const change: Change = { ...wanted, calledAt: performance.now(), answeredAt: Number.POSITIVE_INFINITY };
    this.#rooms.changes.add(change);
    const answer = await this.#send(path, { method: 'POST', body });
    if (answer?.status === 303) change.answeredAt = performance.now();
    else if (answer !== undefined && answer.status < 500) this.#rooms.changes.delete(change);
  }

  /** Undefined without an answer. */
  async #send(path: string, init: RequestInit = {}) {
    const { members, community } = this.#rooms;
    const url = new URL(path, this.#random.pick(members).url);
    const headers = { cookie: community.session.cookie };
    const signal = AbortSignal.timeout(PATIENCE_MS);
    try {
      const response = await fetch(url, { ...init, headers, signal, redirect: 'manual' });
      return { url, status: response.status, headers: response.headers, text: await response.text() };
    } catch {
      return undefined;
    }
  }

  #mark(): number {
    this.#rooms.nextMark += 1;
    return this.#rooms.nextMark;
  }
}

/** What a room is described with beside the area of a mark. */
export const aboutOf = (mark: string): string => `A room of ${mark} m².`;

export const nameOf = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

const photosPath = (place: Place): string => `/console/spaces/${place}/photos`;

export const colourOf = (mark: number): string => `#${mark.toString(16).padStart(6, '0')}`;

function altsIn(page: Page) {
  const { body } = page.form('/order');
  return { names: body.getAll('photo'), alts: body.getAll('alt') };
}

const namesIn = (page: Page): readonly string[] => (page.text.includes('/order"') ? altsIn(page).names : []);
