import { DatabaseSync, StatementSync } from 'node:sqlite';
import { UnusableStore } from '../runtime/unusable-store.ts';
import { isDamage } from './busy.ts';
import type { FileName } from './file-name.ts';

/**
 * A connection whose errors name the damaged file and the command that repairs it. Its statements have their own `get`, `all` and `run`, because
 * damage may show only when rows are read: without these, test/service/damaged-files.test.ts fails.
 */
export class NamedDatabase extends DatabaseSync {
  readonly #file: FileName;

  constructor(file: FileName) {
    super(file.path, { timeout: 0 });
    this.#file = file;
  }

  override exec(sql: string): void {
    try {
      super.exec(sql);
    } catch (error) {
      throw named(this.#file, error);
    }
  }

  override prepare(sql: string): StatementSync {
    const file = this.#file;
    let statement: StatementSync;
    try {
      statement = super.prepare(sql);
    } catch (error) {
      throw named(file, error);
    }
    for (const method of ['get', 'all', 'run'] as const) {
      const value = (...args: readonly unknown[]): unknown => {
        try {
          return Reflect.apply(StatementSync.prototype[method], statement, args);
        } catch (error) {
          throw named(file, error);
        }
      };
      Object.defineProperty(statement, method, { value });
    }
    return statement;
  }
}

function named({ what, path, repair }: FileName, error: unknown): unknown {
  if (!isDamage(error) || error instanceof UnusableStore) return error;
  return new UnusableStore(`The ${what} ${path} is damaged (${messageOf(error)}). ${repair}`, error);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
