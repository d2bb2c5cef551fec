import type { NodeStatus } from '../src/read-models/node-status.ts';

/** The status of a service that keeps no read models up to date and has no roles. */
export const IDLE: NodeStatus = {
  kind: 'service',
  projects: false,
  wants: '',
  hostname: 'localhost',
  pid: process.pid,
  release: 'test',
  roles: [],
};
