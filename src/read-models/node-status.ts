/** The status that a process publishes with every heartbeat. */
export type NodeStatus = {
  /** A `tool`, such as the command line, lets services take over. */
  readonly kind: 'service' | 'tool';
  /** Whether it keeps read models up to date. */
  readonly projects: boolean;
  /** The name of the generation that its release reads. */
  readonly wants: string;
  /** As in the lines of its log. Absent from processes of earlier releases, like the name of its release, and its roles. */
  readonly hostname?: string;
  readonly pid?: number;
  readonly release?: string;
  readonly roles?: readonly string[];
};
