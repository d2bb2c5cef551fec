import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { MongoClient } from 'mongodb';
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers';
import type { TestProject } from 'vitest/node';
import { givenServer } from '../../given-servers.ts';
import { HIDDEN, type Missing } from '../../tool.ts';
import { hostOf } from './server-url.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Port on which test processes request the MongoDB of this run. */
    mongoServer: number;
  }
}

/** A MongoDB to test against, or the reason why none is available. */
export type MongoServer =
  | {
      readonly url: string;
      readonly name: string;
      /** Why it is a stand-in, if it is one. */
      readonly notReal?: string;
      /** The prefix of this run’s database names. */
      readonly databases: string;
    }
  | Missing;

const folder = new URL('mongo-java-server/', import.meta.url).pathname;
const jars = new URL('../../../.cache/mongo-java-server', import.meta.url).pathname;

/**
 * Global set-up: starts a MongoDB when the first test process asks for one; all others share it. Prefers `MONGODB_URL`, then
 * Docker, then mongo-java-server, an in-memory server that speaks the protocol.
 */
export default function setup(project: TestProject) {
  const given = givenServer('MONGODB_URL');
  // Ends the run if a proxy could not reach it.
  if (given !== '') hostOf(given);
  let started: Promise<{ server: MongoServer; stop: () => Promise<unknown> }> | undefined;
  const requests = createServer(async (_request, response) => {
    started ??= startMongoServer();
    response.end(JSON.stringify((await started).server));
  });
  return new Promise<() => Promise<void>>((resolve) => {
    requests.listen(0, '127.0.0.1', () => {
      project.provide('mongoServer', (requests.address() as AddressInfo).port);
      resolve(async () => {
        requests.close();
        const { server, stop } = (await started) ?? {};
        if (server !== undefined && 'url' in server && server.notReal === undefined) await dropDatabases(server);
        await stop?.();
      });
    });
  });
}

/** A given server outlives the run, so the databases of its tests are dropped. */
async function dropDatabases({ url, databases }: { readonly url: string; readonly databases: string }): Promise<void> {
  const client = new MongoClient(url);
  try {
    const { databases: found } = await client.db().admin().listDatabases({ nameOnly: true });
    for (const { name } of found) if (name.startsWith(databases)) await client.db(name).dropDatabase();
  } finally {
    await client.close();
  }
}

/** Starts any available MongoDB, for processes that run without vitest. */
export async function startMongoServer(): Promise<{ server: MongoServer; stop: () => Promise<unknown> }> {
  if (HIDDEN !== undefined) return { server: HIDDEN, stop: async () => {} };
  const url = givenServer('MONGODB_URL');
  const databases = `test-${randomUUID().slice(0, 8)}-`;
  if (url !== '') return { server: { url, name: 'MONGODB_URL', databases }, stop: async () => {} };
  const reasons = ['MONGODB_URL is not set'];
  try {
    await getContainerRuntimeClient();
    const container = await startContainer();
    const port = container.getMappedPort(27017);
    return {
      server: {
        url: `mongodb://${container.getHost()}:${port}/?directConnection=true`,
        name: `a ${IMAGE} container`,
        databases,
      },
      stop: () => container.stop(),
    };
  } catch (error) {
    reasons.push(`no container: ${brief(error)}`);
  }
  try {
    const { child, port } = await startJava();
    return {
      server: {
        url: `mongodb://127.0.0.1:${port}/`,
        name: 'mongo-java-server, a stand-in in memory',
        notReal: reasons.join('; '),
        databases,
      },
      stop: async () => child.kill('SIGKILL'),
    };
  } catch (error) {
    const missing = [...reasons, `no Java stand-in: ${brief(error)}`].join('; ');
    return { server: { missing, install: INSTALL }, stop: async () => {} };
  }
}

const INSTALL = 'set MONGODB_URL, start Docker, or apt-get install default-jdk maven';
const IMAGE = 'mongo:8';

async function startContainer(): Promise<StartedTestContainer> {
  const container = await new GenericContainer(IMAGE)
    .withExposedPorts(27017)
    .withCommand(['--replSet', 'rs0', '--bind_ip_all'])
    .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/i))
    .start();
  const shell = (script: string) => container.exec(['mongosh', '--quiet', '--eval', script]);
  await shell(`rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: 'localhost:27017' }] })`);
  await shell('while (!db.hello().isWritablePrimary) sleep(50)');
  return container;
}

async function startJava(): Promise<{ child: ChildProcess; port: number }> {
  if (!existsSync(jars)) {
    // Downloads into a separate folder first: two runs may download at the same time.
    const downloaded = `${jars}-${process.pid}`;
    await mkdir(downloaded, { recursive: true });
    const goal = ['-q', '-f', `${folder}pom.xml`, 'dependency:copy-dependencies', `-DoutputDirectory=${downloaded}`];
    await promisify(execFile)('mvn', goal, { timeout: 120_000 });
    await rename(downloaded, jars).catch(() => rm(downloaded, { recursive: true }));
  }
  const jvm = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
  // It exits when its standard input closes, and so with this process, even after a kill.
  const child = spawn('java', [...jvm, '-cp', `${jars}/*`, `${folder}Serve.java`], { stdio: ['pipe', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`java exited with ${code}: ${stderr}`)));
    createInterface(child.stdout).once('line', (line) => resolve({ child, port: Number(line) }));
  });
}

const brief = (error: unknown) => (error instanceof Error ? error.message : String(error)).trim().split('\n')[0];
