import { enableCompileCache } from 'node:module';

// What every entry point imports first, before the dynamic import of the rest.

// What was compiled once is found again: a start takes half the time.
enableCompileCache();

// oidc-provider knows an LTS release by its code name, which Node 26 does not give; its warning would greet every start.
const { warn } = console;
console.warn = (...parts: unknown[]) => {
  if (!String(parts[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...parts);
};
