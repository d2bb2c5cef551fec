import './runtime/startup.ts';

const { serve } = await import('./serve.ts');
await serve();
