/**
 * Checks whether what clients saw can have happened one after another: the algorithm of Wing and Gong, with the states that Lowe
 * remembers, as in Porcupine. What may stand in any order is given by `precedes`, so that reads may be promised less than commands.
 */

/** A call of a client, by one monotonic clock. */
export type Timed = {
  readonly calledAt: number;
  /** `Infinity` without an answer: it may have taken effect at any later moment, or never. */
  readonly answeredAt: number;
};

export type Specification<State, Operation extends Timed> = {
  readonly initial: State;
  /**
   * The state after an operation with this answer: the same object if it changes nothing, undefined if it would not have been answered
   * so. Without an answer: the state if it takes effect.
   */
  step(state: State, operation: Operation): State | undefined;
  /** Equal for equal states. */
  keyOf(state: State): string;
  /** Operations of different partitions do not depend on each other. */
  partitionOf(operation: Operation): string;
  /** Whether one operation has to stand before another. Default: it was answered before the other was called. */
  precedes?(before: Operation, after: Operation): boolean;
};

/** Why the operations of a partition cannot have happened. */
export type Violation<Operation> = {
  readonly partition: string;
  readonly operations: readonly Operation[];
  /** The longest order that was possible. */
  readonly possible: readonly Operation[];
  /** What came next, but cannot follow it. */
  readonly stuck: readonly Operation[];
};

/** Thrown if a history needs more orders to be tried than there is time for. */
export class Undecided extends Error {}

const MAX_STATES = 500_000;

/** @returns the partitions that cannot have happened @throws Undecided */
export function violationsIn<State, Operation extends Timed>(
  specification: Specification<State, Operation>,
  history: readonly Operation[],
  maxStates = MAX_STATES,
): readonly Violation<Operation>[] {
  const partitions = Map.groupBy(history, (each) => specification.partitionOf(each));
  return [...partitions].flatMap(([partition, operations]) => {
    const search = new Search(specification, operations, maxStates);
    return search.isLegal() ? [] : [{ partition, operations, ...search.furthest() }];
  });
}

/** A set of operations: bit `i` is that of the i-th. */
type Bits = bigint;

class Search<State, Operation extends Timed> {
  readonly #specification: Specification<State, Operation>;
  readonly #operations: readonly Operation[];
  /** Of each operation, those that stand before it. */
  readonly #before: readonly Bits[];
  /** Those that have an answer, so that they did happen. */
  readonly #answered: Bits;
  readonly #maxStates: number;
  readonly #seen = new Set<string>();
  readonly #path: number[] = [];
  #longest: readonly number[] = [];

  constructor(specification: Specification<State, Operation>, operations: readonly Operation[], maxStates: number) {
    const { precedes = (before, after) => before.answeredAt < after.calledAt } = specification;
    this.#specification = specification;
    this.#maxStates = maxStates;
    this.#operations = operations.toSorted((a, b) => a.calledAt - b.calledAt);
    this.#before = this.#operations.map((after) =>
      this.#bitsOf((before) => before !== after && precedes(before, after)),
    );
    this.#answered = this.#bitsOf(isAnswered);
  }

  isLegal(): boolean {
    return this.#canFinish(0n, this.#specification.initial);
  }

  furthest(): Pick<Violation<Operation>, 'possible' | 'stuck'> {
    const done = this.#longest.reduce((bits, index) => bits | bitOf(index), 0n);
    const operationsOf = (indexes: readonly number[]) => this.#operations.filter((_, index) => indexes.includes(index));
    return {
      possible: this.#longest.flatMap((index) => operationsOf([index])),
      stuck: operationsOf(this.#next(done)).filter(isAnswered),
    };
  }

  /** Whether the operations that are left can follow in some order. */
  #canFinish(before: Bits, state: State): boolean {
    const length = this.#path.length;
    const done = this.#takeUnchanged(before, state);
    if ((this.#answered & ~done) === 0n) return true;
    if (this.#path.length > this.#longest.length) this.#longest = [...this.#path];
    if (this.#isNew(done, state) && this.#canFinishByChange(done, state)) return true;
    this.#path.length = length;
    return false;
  }

  #canFinishByChange(done: Bits, state: State): boolean {
    for (const index of this.#next(done)) {
      const after = this.#step(state, index);
      if (after === undefined || after === state) continue;
      this.#path.push(index);
      if (this.#canFinish(done | bitOf(index), after)) return true;
      this.#path.pop();
    }
    return false;
  }

  /**
   * Takes what is possible now and changes nothing. Nothing is lost by that: if it stood later in an order, it could also stand here. An
   * operation without an answer is left, because it may still change something.
   */
  #takeUnchanged(before: Bits, state: State): Bits {
    let done = before;
    for (let length = -1; length !== this.#path.length; ) {
      length = this.#path.length;
      for (const index of this.#next(done)) {
        if ((this.#answered & bitOf(index)) === 0n || this.#step(state, index) !== state) continue;
        this.#path.push(index);
        done |= bitOf(index);
      }
    }
    return done;
  }

  #isNew(done: Bits, state: State): boolean {
    const key = `${done.toString(36)} ${this.#specification.keyOf(state)}`;
    if (this.#seen.has(key)) return false;
    if (this.#seen.size >= this.#maxStates) throw new Undecided(`More than ${this.#maxStates} states`);
    this.#seen.add(key);
    return true;
  }

  #step(state: State, index: number): State | undefined {
    const operation = this.#operations[index];
    return operation && this.#specification.step(state, operation);
  }

  /** What may stand next. */
  #next(done: Bits): readonly number[] {
    return this.#before.flatMap((before, index) =>
      (done & bitOf(index)) === 0n && (before & ~done) === 0n ? [index] : [],
    );
  }

  #bitsOf(isIn: (operation: Operation) => boolean): Bits {
    return this.#operations.reduce((bits, each, index) => (isIn(each) ? bits | bitOf(index) : bits), 0n);
  }
}

const bitOf = (index: number): Bits => 1n << BigInt(index);
const isAnswered = ({ answeredAt }: Timed): boolean => answeredAt !== Number.POSITIVE_INFINITY;
