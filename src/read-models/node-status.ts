/** The status that a process publishes with every heartbeat. */
export type NodeStatus = {
  /** A `tool`, such as the command line, lets services take over. */
  readonly kind: 'service' | 'tool';
  /** Whether it keeps read models up to date. */
  readonly projects: boolean;
  /** The name of the generation that its release reads. */
  readonly wants: string;
  /** The name of its release, and its roles. Absent from processes of earlier releases. */
  readonly release?: string;
  readonly roles?: readonly string[];
};
