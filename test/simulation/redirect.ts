import { registerHooks } from 'node:module';

/** The modules of the service that the simulation replaces, or watches. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  ['src/event-store/sqlite/event-store.ts', './edges.ts'],
  ['src/document-store/sqlite/document-store.ts', './edges.ts'],
  ['src/webhooks/send/http-sender.ts', './edges.ts'],
  ['src/mail/smtp-sender.ts', './edges.ts'],
  ['src/leases/lease.ts', './watched-leases.ts'],
  ['src/mail/outcome.ts', './mail-pauses.ts'],
  ['src/event-loop/rounds.ts', './rounds-while-alive.ts'],
]);
const ROOT = new URL('../../', import.meta.url).href;

/** From now on, the service is imported with these modules replaced. What replaces a module may import it. */
export function redirectImports(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const path = resolved.url.startsWith(ROOT) ? resolved.url.slice(ROOT.length) : '';
      const instead = REPLACED.get(path);
      const by = instead && new URL(instead, import.meta.url).href;
      return by === undefined || context.parentURL === by ? resolved : { ...resolved, url: by };
    },
  });
}
