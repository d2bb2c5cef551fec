import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { registerCompression } from './compression.ts';

const FOLDER = new URL('./assets/', import.meta.url);
const YEAR_MS = 365 * 24 * 3_600_000;

export type AssetName = 'console.css' | 'console.js' | 'icons.svg' | 'favicon.svg';

const addresses = new Map<AssetName, string>();

/** The address of a stylesheet, script or image of ours. It changes with the content, so browsers may keep it for good. */
export function assetUrl(name: AssetName): string {
  let address = addresses.get(name);
  if (address === undefined) {
    const content = readFileSync(new URL(name, FOLDER));
    const version = createHash('sha256').update(content).digest('base64url').slice(0, 10);
    address = `/assets/${name}?v=${version}`;
    addresses.set(name, address);
  }
  return address;
}

/** Serves what pages link to. Everything comes from this service, nothing from elsewhere. */
export async function registerAssets(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    await registerCompression(scope);
    await scope.register(fastifyStatic, {
      root: FOLDER,
      prefix: '/assets/',
      // A route for each file; every other address is one that there is not, as anywhere else in the service.
      wildcard: false,
      decorateReply: false,
      index: false,
      immutable: true,
      maxAge: YEAR_MS,
      setHeaders: (reply) => void reply.headers({ vary: 'accept-encoding', 'x-content-type-options': 'nosniff' }),
    });
  });
}
