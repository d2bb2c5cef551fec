import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { givenServer } from '../../given-servers.ts';
import { HIDDEN, MACHINE_PATH, type Missing } from '../../tool.ts';
import { SERVER_IMAGE } from './server-version.ts';

export type RealServer = { readonly url: string; readonly name: string; readonly stop: () => Promise<void> };

/** A real EventStoreDB: the one at `EVENTSTORE_URL`, or one in Docker. If neither is available, the reason. */
export async function startRealServer(): Promise<RealServer | Missing> {
  if (HIDDEN !== undefined) return HIDDEN;
  const url = givenServer('EVENTSTORE_URL');
  if (url !== '') return { url, name: 'EventStoreDB at EVENTSTORE_URL', stop: async () => {} };
  const { PATH } = process.env;
  // To sign in to a registry, it runs programs of Docker.
  process.env.PATH = MACHINE_PATH;
  try {
    return await startContainer();
  } finally {
    process.env.PATH = PATH;
  }
}

async function startContainer(): Promise<RealServer | Missing> {
  try {
    await getContainerRuntimeClient();
  } catch {
    return { missing: 'no Docker', install: 'start Docker, or set EVENTSTORE_URL' };
  }
  const container = await new GenericContainer(SERVER_IMAGE)
    .withEnvironment({
      KURRENTDB_INSECURE: 'true',
      KURRENTDB_MEM_DB: 'true',
      KURRENTDB_RUN_PROJECTIONS: 'None',
      KURRENTDB_TELEMETRY_OPTOUT: 'true',
    })
    .withExposedPorts(2113)
    .withWaitStrategy(Wait.forHttp('/health/live', 2113).forStatusCode(204))
    .start();
  return {
    url: `esdb://${container.getHost()}:${container.getMappedPort(2113)}?tls=false`,
    name: `EventStoreDB, ${SERVER_IMAGE} in Docker`,
    stop: async () => {
      await container.stop();
    },
  };
}
