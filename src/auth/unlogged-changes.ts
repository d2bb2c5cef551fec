import type { Logger } from 'pino';
import type { Documents, Query } from '../document-store/document-store.ts';
import type { EventMetadata, MembershipEvent } from '../domain/events.ts';

/** Who changes a record, and in which request, as the log tells it. */
export type ChangeContext = Omit<EventMetadata, 'at' | 'schema'>;

/** Tells the log of changes to records; of each of them once, however often it is asked to. Implemented by the commands. */
export type MembershipLog = { record(change: MembershipEvent, context: ChangeContext): Promise<void> };

type Unlogged = {
  readonly change: MembershipEvent;
  readonly context: ChangeContext;
  /** Its consequences are done. Doing them twice could hit later state: a session of the new password, an app connected again. */
  readonly isSettled?: true;
};

/**
 * What a record holds besides: its changes of which the log does not tell yet. They are written with what they change, so that no
 * failure can come in between (docs/decisions/accounts.md).
 */
export type WithUnlogged = {
  readonly unlogged?: readonly Unlogged[];
  /** For the index: whether there are any. */
  readonly isUnlogged?: 'yes' | 'no';
};

/** The index of the records with unlogged changes, and the query for them. */
export const UNLOGGED_INDEX = { fields: ['isUnlogged'], where: { isUnlogged: 'yes' } } as const;
export const UNLOGGED = { where: { isUnlogged: 'yes' } } as const;

/** The record with changes that have yet to be told. */
export const withChanges = <D extends WithUnlogged>(
  record: D,
  changes: readonly MembershipEvent[],
  context: ChangeContext,
): D => withUnlogged(record, [...(record.unlogged ?? []), ...changes.map((change) => ({ change, context }))]);

const withUnlogged = <D extends WithUnlogged>(record: D, unlogged: readonly Unlogged[]): D => ({
  ...record,
  unlogged,
  isUnlogged: unlogged.length > 0 ? 'yes' : 'no',
});

const idOf = ({ change }: Unlogged): string => change.data.changeId;

export type Recorder = {
  /**
   * Finishes the changes that a record holds and tells the log of them. If the log cannot be told now, the change has happened all
   * the same: it stays in the record, for the next time.
   */
  finish(key: string): Promise<void>;
  /** The same for every record: what a process left unfinished that has died, or could not reach the log. */
  finishAll(): Promise<void>;
};

/** Tells the log of the changes to the records of one collection. */
export function createRecorder<D extends WithUnlogged>(deps: {
  readonly records: Documents<D>;
  readonly unlogged: () => Query<D>;
  readonly log: MembershipLog;
  readonly logger: Pick<Logger, 'error'>;
  /** Does what follows from a change, such as ending sessions; once more after a failure. */
  readonly settle: (record: D, change: MembershipEvent, context: ChangeContext) => Promise<void>;
  /** Whether the record exists only until the log tells of its end. */
  readonly isEnded: (record: D) => boolean;
}): Recorder {
  const { records, log, logger, settle, isEnded } = deps;

  /** Changes these unlogged changes of a record, or removes them. Those that came in meanwhile stay. */
  async function update(
    key: string,
    these: readonly Unlogged[],
    to: (unlogged: Unlogged) => Unlogged | undefined,
  ): Promise<void> {
    const ids = new Set(these.map(idOf));
    await records.update(
      key,
      (record) =>
        record &&
        withUnlogged(
          record,
          (record.unlogged ?? []).flatMap((each) => (ids.has(idOf(each)) ? (to(each) ?? []) : each)),
        ),
    );
  }

  async function finish(key: string): Promise<void> {
    for (;;) {
      const stored = await records.get(key);
      if (stored === undefined) return;
      const { document: record, version } = stored;
      const { unlogged = [] } = record;
      if (unlogged.length === 0) return;
      const unsettled = unlogged.filter(({ isSettled }) => isSettled !== true);
      for (const { change, context } of unsettled) await settle(record, change, context);
      try {
        for (const { change, context } of unlogged) await log.record(change, context);
      } catch (error) {
        logger.error({ err: error, key }, 'The log cannot be told of a change that was made; it is told later');
        if (unsettled.length > 0) await update(key, unlogged, (each) => ({ ...each, isSettled: true }));
        return;
      }
      if (!isEnded(record)) return update(key, unlogged, () => undefined);
      // Otherwise it has changed again meanwhile. What has been told is not told twice.
      if (await records.delete(key, version)) return;
    }
  }

  return {
    finish,
    async finishAll() {
      const keys = await Array.fromAsync(records.find(deps.unlogged()), ({ key }) => key);
      const failures: unknown[] = [];
      // One that cannot be finished must not hold up the others.
      for (const key of keys) await finish(key).catch((error: unknown) => failures.push(error));
      if (failures.length === 0) return;
      throw new AggregateError(failures, `Changes to ${failures.length} of ${keys.length} records cannot be finished`);
    },
  };
}
