import { enableCompileCache, registerHooks } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';

// Starts a service and prints the packages and source modules that it loaded, one per line. It listens only with the argument `listen`.
enableCompileCache();
const ROOT = new URL('../../', import.meta.url).href;
const packages = new Set<string>();
registerHooks({
  load(url, context, next) {
    const name = [...url.matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].at(-1)?.[1];
    packages.add(name ?? url.slice(ROOT.length));
    return next(url, context);
  },
});
const { createApp } = await import('../../src/app.ts');
const { openCore } = await import('../../src/core.ts');
const { readConfig } = await import('../../src/config.ts');
const core = await openCore(readConfig(process.env), pino({ level: 'silent' }));
const app = await createApp(core);
await app.ready();
// The first start continues while it creates one; a process that ended meanwhile would leave that to the next.
await core.authorizationServer.signingKeys.current();
if (process.argv[2] === 'listen') {
  await app.listen({ host: '127.0.0.1', port: 0 });
  // A part of Ajv, which is loaded last.
  for (let waited = 0; waited < 10_000 && !packages.has('fast-uri'); waited += 10) await sleep(10);
}
await app.close();
await core.close();
console.log([...packages].join('\n'));
