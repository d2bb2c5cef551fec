import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lacks } from '../lacks.ts';
import { envFor, onPath, type Tool } from '../tool.ts';
import { ALL_CALLED, MOVED_AND_ADDED, type ServiceForClients, serviceForClients } from './signed-in.ts';

const run = promisify(execFile);
const here = (path: string) => new URL(path, import.meta.url).pathname;

/** Copied by .ci/run. */
const jars = globSync(here('java/lib/*.jar'));
const [generator] = jars.filter((jar) => jar.includes('openapi-generator-cli'));
const classpath = jars.filter((jar) => jar !== generator).join(delimiter);
const JAVA: Tool = {
  name: 'Java with openapi-generator',
  look: () =>
    onPath('javac') !== undefined && generator !== undefined
      ? { found: onPath('javac') ?? '' }
      : {
          missing: 'no javac, or not the generator',
          install:
            'apt-get install default-jdk maven; mvn -f test/clients/java dependency:copy-dependencies -DoutputDirectory=lib',
        },
};

let service: ServiceForClients;
beforeAll(async () => {
  service = await serviceForClients();
});
afterAll(() => service.stop());

test.skipIf(lacks(JAVA))(
  'openapi-generator’s default client in Java signs in, refreshes and calls every operation',
  async () => {
    const { folder } = service;
    const document = here('../../docs/openapi.json');
    const options = ['--global-property', 'models,apis,supportingFiles,apiTests=false,modelTests=false'];
    const generate = ['-jar', generator ?? '', 'generate', '-g', 'java', '-i', document, '-o', folder, ...options];
    // Java 17 reads and writes files as the locale says, and a machine may have none.
    const env = { ...envFor(JAVA), JAVA_TOOL_OPTIONS: '-Dfile.encoding=UTF-8' };
    await run('java', ['-XX:TieredStopAtLevel=1', ...generate], { env, maxBuffer: 2 ** 26 });
    const sources = globSync(join(folder, 'src/main/**/*.java'));
    const compile = ['-J-XX:TieredStopAtLevel=1', '-nowarn', '-proc:none', '-d', folder, '-cp', classpath];
    await run('javac', [...compile, ...sources, here('java/Client.java')], { env });
    const args = ['-XX:TieredStopAtLevel=1', '-cp', [folder, classpath].join(delimiter), 'Client'];
    expect(await service.runClient('java', args, { env })).toEqual({
      statuses: ALL_CALLED,
      ...MOVED_AND_ADDED,
      totalPrice: 230,
      charged: 230,
      refreshed: true,
      refused: 'invalid_grant',
    });
  },
);
