import { registerHooks } from 'node:module';

// Imported before a service: src/engines.ts then gets the adapter of EventStoreDB from beside this file.

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const isAdapter = resolved.url.endsWith('/src/event-store/eventstoredb/event-store.ts');
    if (!isAdapter || context.parentURL?.endsWith('/src/engines.ts') !== true) return resolved;
    return { ...resolved, url: new URL('own-log-adapter.ts', import.meta.url).href };
  },
});
