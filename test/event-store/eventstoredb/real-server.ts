import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { givenServer } from '../../given-servers.ts';
import { SERVER_IMAGE } from './server-version.ts';

export type RealServer = { readonly url: string; readonly name: string; readonly stop: () => Promise<void> };

/** A real EventStoreDB: the one at `EVENTSTORE_URL`, or one in Docker. If neither is available, the reason. */
export async function startRealServer(): Promise<RealServer | { readonly missing: string }> {
  const url = givenServer('EVENTSTORE_URL');
  if (url !== '') return { url, name: 'EventStoreDB at EVENTSTORE_URL', stop: async () => {} };
  try {
    await getContainerRuntimeClient();
  } catch {
    return { missing: 'EVENTSTORE_URL is not set and Docker is not available' };
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
