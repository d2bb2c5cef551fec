import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../event-loop/within.ts';
import { UnusableStore } from '../../runtime/unusable-store.ts';
import { addressOf, GossipRefused, type Member, readGossip, resolveSeed } from './gossip.ts';
import { misconfiguration } from './misconfiguration.ts';
import { unknownUser } from './rights.ts';
import type { Endpoint, Settings } from './settings.ts';

/** The pause between two rounds of gossip doubles up to this. */
const MAX_PAUSE_MS = 500;
/** A slow call does not trigger a new round if the leader has confirmed itself within this time. */
const TRUSTED_FOR_MS = 1_000;

/** No node claims to lead, or the only node does not answer. */
export class NoLeader extends Error {
  constructor(findings: readonly string[]) {
    super(`EventStoreDB has no leader that answers: ${findings.join('; ') || 'no node has answered yet'}`);
    this.name = 'NoLeader';
  }
}

/** The event store has been closed, so that nothing is repeated. */
export class StoreClosed extends Error {
  constructor() {
    super('The event store is closed');
    this.name = 'StoreClosed';
  }
}

type Deps = {
  readonly settings: Settings;
  /** Aborted when the event store is closed. */
  readonly closing: AbortSignal;
  /** The leader has changed. */
  readonly moved: (leader: Endpoint) => void;
  /** A round of gossip has found no leader. */
  readonly missing: (error: NoLeader) => void;
};

/**
 * Finds the leader. Asks all nodes at once, so that a hanging one causes no delay, and trusts only a leader's own answer: while a
 * leader hangs, the others still name it until they have elected a new one (docs/decisions/eventstoredb.md). A single node in the
 * URL is the leader as long as it answers.
 */
export class Leader {
  readonly #deps: Deps;
  #isCluster: boolean;
  #current: Endpoint | undefined;
  #last: Endpoint | undefined;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #hasStarted = false;
  #searching: Promise<Endpoint> | undefined;
  #findings: readonly string[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
    const { seeds, isName } = deps.settings;
    this.#isCluster = isName || seeds.length > 1;
    // A single node is asked only after a failed call, so that startup does not wait for it.
    if (!this.#isCluster) this.#current = this.#last = seeds[0];
  }

  /**
   * Waits for a leader.
   * @param withinMs how long to wait; default: forever
   * @throws {NoLeader} with the answer of each node
   * @throws {UnusableStore} if the nodes reject the user or, during startup, the URL cannot work
   * @throws {StoreClosed} once the event store is closed
   */
  async find(withinMs?: number): Promise<Endpoint> {
    if (this.#deps.closing.aborted) throw new StoreClosed();
    if (this.#current !== undefined) return this.#current;
    const searching = this.#search();
    return withinMs === undefined ? searching : within(withinMs, searching, () => new NoLeader(this.#findings));
  }

  /** Call when a call to the node has failed or takes long. Starts a round at once; new calls wait for its result. */
  suspect(node: Endpoint, why: 'failed' | 'silent'): void {
    if (this.#current === undefined || addressOf(this.#current) !== addressOf(node)) return;
    if (why === 'silent' && performance.now() - this.#confirmedAt < TRUSTED_FOR_MS) return;
    this.#current = undefined;
    this.#search().catch(() => {});
  }

  /** Call when the only node in the URL turns out not to lead, so that there must be others. */
  hasOtherNodes(): void {
    this.#isCluster = true;
  }

  /** Call once the nodes have been reached: later failures count as temporary. */
  started(): void {
    this.#hasStarted = true;
  }

  #search(): Promise<Endpoint> {
    this.#searching ??= this.#askUntilFound().finally(() => {
      this.#searching = undefined;
    });
    return this.#searching;
  }

  async #askUntilFound(): Promise<Endpoint> {
    const { closing, missing, moved, settings } = this.#deps;
    for (let pauseMs = settings.discoveryIntervalMs; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      if (closing.aborted) throw new StoreClosed();
      const leader = await this.#ask();
      if (leader !== undefined) {
        const before = this.#last;
        this.#current = this.#last = leader;
        this.#confirmedAt = performance.now();
        this.#findings = [];
        if (before !== undefined && addressOf(before) !== addressOf(leader)) moved(leader);
        return leader;
      }
      missing(new NoLeader(this.#findings));
      await sleep(pauseMs, undefined, { signal: closing }).catch(() => {});
    }
  }

  /** One round. Ends once a leader is certain, or all nodes have answered or timed out. */
  async #ask(): Promise<Endpoint | undefined> {
    const { settings } = this.#deps;
    const [seed] = settings.seeds;
    const name = settings.isName ? seed?.host : undefined;
    const answers = new Map<string, readonly Member[]>();
    const findings = new Map<string, string>();
    const misconfigured = new Map<string, string>();
    const decision = Promise.withResolvers<Endpoint | undefined>();
    const addresses = new Set<string>();
    let open = 0;
    const ask = (endpoint: Endpoint, certificateName?: string): void => {
      const address = addressOf(endpoint);
      if (addresses.has(address)) return;
      addresses.add(address);
      open += 1;
      readGossip(endpoint, settings, certificateName)
        .then(
          (members) => {
            answers.set(address, members);
            findings.set(address, `${address} leads ${leadersOf(members).join(' and ') || 'no node'}`);
            if (this.#isCluster) for (const member of members) ask(member.endpoint);
          },
          async (error: unknown) => {
            // Any answer of a single node proves that it is reachable.
            if (error instanceof GossipRefused && !this.#isCluster) answers.set(address, []);
            else if (error instanceof GossipRefused && error.isUserRejected) decision.reject(unknownUser(error));
            findings.set(address, `${address}: ${error instanceof Error ? error.message || error.name : error}`);
            if (this.#hasStarted || error instanceof GossipRefused) return;
            const wrong = await misconfiguration(error, endpoint, settings);
            if (wrong !== undefined) misconfigured.set(address, wrong);
          },
        )
        .finally(() => {
          open -= 1;
          const leader = this.#isCluster ? chooseLeader(answers, open === 0) : answers.size > 0 ? endpoint : undefined;
          if (leader !== undefined || open === 0) decision.resolve(leader);
        });
    };
    try {
      const nodes = settings.isName && seed !== undefined ? await resolveSeed(seed) : settings.seeds;
      for (const node of nodes) ask(node, name);
    } catch (error) {
      this.#findings = [error instanceof Error ? error.message : String(error)];
      return undefined;
    }
    const leader = await decision.promise;
    this.#findings = [...findings.values()];
    const [wrong] = misconfigured.values();
    if (wrong !== undefined && misconfigured.size === addresses.size)
      throw new UnusableStore(`EVENTSTORE_URL: ${wrong}`);
    return leader;
  }
}

const leadersOf = (members: readonly Member[]): string[] =>
  members.filter(({ leads }) => leads).map(({ endpoint }) => addressOf(endpoint));

/**
 * The node that claims to lead and is named by most others. A former leader that hung also claims to lead until it learns of the
 * election.
 * @param isFinal whether all answers are in; before that, more than half of the nodes must agree
 */
function chooseLeader(answers: ReadonlyMap<string, readonly Member[]>, isFinal: boolean): Endpoint | undefined {
  const members = new Map([...answers.values()].flat().map(({ endpoint }) => [addressOf(endpoint), endpoint]));
  const votes = new Map<string, number>();
  // One node may have several addresses, so count the nodes that they name.
  for (const [from, reported] of answers)
    if (members.has(from)) for (const leader of leadersOf(reported)) votes.set(leader, (votes.get(leader) ?? 0) + 1);
  const leads = (address: string) => leadersOf(answers.get(address) ?? []).includes(address);
  const [[best, count] = ['', 0]] = [...votes].filter(([address]) => leads(address)).toSorted((a, b) => b[1] - a[1]);
  return isFinal || count > members.size / 2 ? members.get(best) : undefined;
}
