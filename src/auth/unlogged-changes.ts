import type { Logger } from 'pino';
import type { Documents, Query } from '../document-store/document-store.ts';
import type { EventMetadata, MembershipEvent } from '../domain/events.ts';
import { isLogUnavailable } from '../runtime/unavailable.ts';

/** The actor and request of a change, for the log. */
export type ChangeContext = Pick<EventMetadata, 'actor' | 'correlationId' | 'causationId'>;

/** Appends changes of records to the log, each once. Implemented by the commands. */
export type MembershipLog = { record(change: MembershipEvent, context: ChangeContext): Promise<void> };

type Unlogged = {
  readonly change: MembershipEvent;
  readonly context: ChangeContext;
  /** Whether its consequences are done. Repeating them could affect later state: a session of the new password, an app connected again. */
  readonly isSettled?: true;
};

/**
 * The changes of a record that are not in the log yet. They are stored in the same write as the change, so that no failure can separate
 * them (docs/decisions/accounts.md).
 */
export type WithUnlogged = {
  readonly unlogged?: readonly Unlogged[];
  /** Indexed: whether there are any. */
  readonly isUnlogged?: 'yes' | 'no';
};

/** The index of the records with unlogged changes, and the query for them. */
export const UNLOGGED_INDEX = { fields: ['isUnlogged'], where: { isUnlogged: 'yes' } } as const;
export const UNLOGGED = { where: { isUnlogged: 'yes' } } as const;

/** The record with these unlogged changes added. */
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

/** Appends the unlogged changes of one collection to the log. */
export function createRecorder<D extends WithUnlogged>(deps: {
  readonly records: Documents<D>;
  readonly unlogged: () => Query<D>;
  readonly log: MembershipLog;
  readonly logger: Pick<Logger, 'error'>;
  /** Applies the consequences of a change, such as ending sessions; repeated after a failure. */
  readonly settle: (record: D, change: MembershipEvent, context: ChangeContext) => Promise<void>;
  /** Whether the record exists only until the event of its end is in the log. */
  readonly isEnded: (record: D) => boolean;
}) {
  const { records, log, logger, settle, isEnded } = deps;

  /** Updates or removes these unlogged changes of a record. Changes added meanwhile stay. */
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

  /**
   * Finishes the unlogged changes of a record and appends them to the log. If the log is unavailable, the change still holds and stays in
   * the record for the next time.
   */
  async function finish(key: string): Promise<void> {
    for (;;) {
      const stored = await records.get(key);
      if (stored === undefined) return;
      const { document: record, version } = stored;
      const { unlogged = [] } = record;
      if (unlogged.length === 0) return;
      const unsettled = unlogged.filter(({ isSettled }) => isSettled !== true);
      try {
        for (const { change, context } of unsettled) await settle(record, change, context);
      } catch (error) {
        if (!isLogUnavailable(error)) throw error;
        logger.error({ err: error, key }, 'A change could not be appended to the log; trying again');
        return;
      }
      try {
        for (const { change, context } of unlogged) await log.record(change, context);
      } catch (error) {
        logger.error({ err: error, key }, 'A change could not be appended to the log; trying again');
        if (unsettled.length > 0) await update(key, unlogged, (each) => ({ ...each, isSettled: true }));
        return;
      }
      if (!isEnded(record)) return update(key, unlogged, () => undefined);
      // Otherwise the record has changed again. Logged changes are not logged twice.
      if (await records.delete(key, version)) return;
    }
  }

  return {
    finish,
    /** Does the same for every record: finishes changes of processes that died or could not reach the log. */
    async finishAll(): Promise<void> {
      const keys = await Array.fromAsync(records.find(deps.unlogged()), ({ key }) => key);
      const failures: unknown[] = [];
      // A record that fails must not block the others.
      for (const key of keys) await finish(key).catch((error: unknown) => failures.push(error));
      if (failures.length === 0) return;
      throw new AggregateError(failures, `Changes to ${failures.length} of ${keys.length} records cannot be finished`);
    },
  };
}
