import type { Documents, Query, Stored } from '../document-store/document-store.ts';
import { inPages } from '../event-loop/in-pages.ts';
import type { Clock } from '../runtime/clock.ts';
import { afterAttempts, endedEarly, type Outcome, type Progress } from './progress.ts';

/** Records per commit. */
const PAGE = 100;
/** Page size of the query for groups with pending records. */
const GROUPS_PAGE = 64;

/** Computes the next record; undefined to leave it as it is. It may run again after a conflict. */
export type Change<R> = (record: R) => R | undefined;

/**
 * Records of what is to be sent, in the document store. Each is stored as pending before it is sent. One process at a time sends, so none
 * is claimed.
 */
export class OutboxQueue<R extends Progress> {
  protected readonly records: Documents<R>;
  protected readonly clock: Clock;
  readonly #oldest: Query<R>;
  readonly #attemptsKept: number;
  readonly #listeners = new Set<(record: R) => void>();

  /**
   * @param queries.oldest the pending record that was created first
   * @param attemptsKept how many attempts are kept with a record
   */
  protected constructor(
    records: Documents<R>,
    clock: Clock,
    queries: { readonly oldest: Query<R> },
    attemptsKept: number,
  ) {
    this.records = records;
    this.clock = clock;
    this.#oldest = queries.oldest;
    this.#attemptsKept = attemptsKept;
  }

  /** Calls `listener` with every record that this process creates or changes. @returns a function that stops it */
  onChange(listener: (record: R) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async get(id: string): Promise<R | undefined> {
    return (await this.records.get(id))?.document;
  }

  /** The records of these ids that exist, by id. */
  async existing(ids: readonly string[]): Promise<ReadonlyMap<string, Stored<R>>> {
    if (ids.length === 0) return new Map();
    return new Map((await this.records.getMany(ids)).map((stored) => [stored.key, stored]));
  }

  /** The pending record that was created first. */
  async oldest(): Promise<R | undefined> {
    for await (const { document } of this.records.find(this.#oldest)) return document;
    return undefined;
  }

  /** Stores attempts and their outcome. */
  async complete(stored: Stored<R>, attempts: R['attempts'], outcome: Outcome<R['state']>): Promise<void> {
    const moment = () => ({ now: this.clock(), kept: this.#attemptsKept });
    await this.change(stored.key, (record) => afterAttempts(record, attempts, outcome, moment()), stored);
  }

  /** Ends a pending record. */
  async end(stored: Stored<R>, how: { readonly state: R['state']; readonly reason: string }): Promise<void> {
    await this.change(stored.key, (record) => endedEarly(record, how, this.clock()), stored);
  }

  /** Stores a new record. @returns undefined if there is one with this id */
  protected async insert(id: string, record: R): Promise<Stored<R> | undefined> {
    if (!(await this.records.insert(id, record))) return undefined;
    this.#notify(record);
    return { key: id, version: 1, document: record };
  }

  /**
   * @param stored as it was read, if it was; need not be the latest version
   * @returns undefined if it does not exist, or `next` left it as it was
   */
  protected async change(id: string, next: Change<R>, stored?: Stored<R>): Promise<R | undefined> {
    const updated = await this.records.update(id, (record) => record && next(record), stored && { stored });
    if (!updated.isChanged) return undefined;
    this.#notify(updated.stored.document);
    return updated.stored.document;
  }

  /** @returns whether any was changed */
  protected async changeAll(query: Query<R>, next: Change<R>): Promise<boolean> {
    let isAny = false;
    for await (const page of inPages(this.records.find(query), PAGE)) {
      const changed = await Promise.all(page.map((stored) => this.change(stored.key, next, stored)));
      isAny ||= changed.some((record) => record !== undefined);
    }
    return isAny;
  }

  /**
   * The first pending record of each group, from the group after `above` on. Seeks from group to group, so that a long queue of one does
   * not delay the others; where each has only a few records, one query covers many groups.
   */
  protected async *firstOfEach(
    groupOf: (record: R) => string,
    pendingAfter: (above: string, limit: number) => Query<R>,
    above = '',
  ): AsyncGenerator<R> {
    let last = above;
    for (let limit = 1; ; ) {
      let groups = 0;
      const page = await Array.fromAsync(this.records.find(pendingAfter(last, limit)));
      for (const { document } of page) {
        if (groupOf(document) === last) continue;
        last = groupOf(document);
        groups += 1;
        yield document;
      }
      if (page.length < limit) return;
      limit = Math.min(2 * groups, GROUPS_PAGE);
    }
  }

  #notify(record: R): void {
    for (const listener of this.#listeners) listener(record);
  }
}
