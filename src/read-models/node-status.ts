import type { ReadModelId } from './catalogue.ts';

/** What a process tells the others with every heartbeat. */
export type NodeStatus = {
  /** A `tool`, such as the command line, steps back for services. */
  readonly kind: 'service' | 'tool';
  /** Whether it keeps read models up to date. */
  readonly projects: boolean;
  /** The read models of its release. */
  readonly wants: readonly ReadModelId[];
};
