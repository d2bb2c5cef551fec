import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { compressed } from './compression.ts';

const FOLDER = new URL('./assets/', import.meta.url);

const TYPES = {
  'console.css': 'text/css; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'icons.svg': 'image/svg+xml; charset=utf-8',
  'favicon.svg': 'image/svg+xml; charset=utf-8',
} as const;
export type AssetName = keyof typeof TYPES;

type Asset = { readonly content: Buffer; readonly version: string };
const assets = new Map<AssetName, Asset>();

function assetOf(name: AssetName): Asset {
  let asset = assets.get(name);
  if (asset === undefined) {
    const content = readFileSync(new URL(name, FOLDER));
    const version = createHash('sha256').update(content).digest('base64url').slice(0, 10);
    asset = { content, version };
    assets.set(name, asset);
  }
  return asset;
}

/** The address of a stylesheet, script or image of ours. It changes with the content, so browsers may keep it for good. */
export const assetUrl = (name: AssetName): string => `/assets/${name}?v=${assetOf(name).version}`;

/** Serves what pages link to: four small files, kept in memory. Everything comes from this service, nothing from elsewhere. */
export function registerAssets(app: FastifyInstance): void {
  for (const name of Object.keys(TYPES) as AssetName[]) {
    const answers = new Map<string, Buffer>();
    app.get(`/assets/${name}`, { schema: { hide: true } }, async (request, reply) => {
      const { content } = assetOf(name);
      const { encoding, body } = compressed(content, request.headers['accept-encoding'], answers);
      if (encoding !== undefined) reply.header('content-encoding', encoding);
      return reply
        .header('content-type', TYPES[name])
        .header('cache-control', 'public, max-age=31536000, immutable')
        .header('vary', 'accept-encoding')
        .header('x-content-type-options', 'nosniff')
        .send(body);
    });
  }
}
