/** The status that a process publishes with every heartbeat. */
export type NodeStatus = {
  /** A `tool`, such as the command line, lets services take over. */
  readonly kind: 'service' | 'tool';
  /** Whether it keeps read models up to date. */
  readonly projects: boolean;
  /** The name of the generation that its release reads. */
  readonly wants: string;
  /** As in the lines of its log. */
  readonly hostname: string;
  readonly pid: number;
  /** The name of its release. */
  readonly release: string;
  readonly roles: readonly string[];
};
