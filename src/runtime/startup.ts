// oidc-provider recognises LTS releases by their code name, which Node 26 does not report, and would warn at every start.
const { warn } = console;
console.warn = (...parts: unknown[]) => {
  if (!String(parts[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...parts);
};
