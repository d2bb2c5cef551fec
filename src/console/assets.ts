import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';

const FOLDER = new URL('./assets/', import.meta.url);

export type AssetName = 'console.css' | 'console.js' | 'icons.svg' | 'favicon.svg';

const versions = new Map<AssetName, string>();

/** The address of a stylesheet, script or image of ours. It changes with the content, so browsers may keep it for good. */
export function assetUrl(name: AssetName): string {
  let version = versions.get(name);
  if (version === undefined) {
    const content = readFileSync(new URL(name, FOLDER));
    version = createHash('sha256').update(content).digest('base64url').slice(0, 10);
    versions.set(name, version);
  }
  return `/assets/${name}?v=${version}`;
}

/** Serves what pages link to: everything comes from this service, nothing from elsewhere. */
export async function registerAssets(app: FastifyInstance): Promise<void> {
  await app.register(fastifyStatic, {
    root: FOLDER.pathname,
    prefix: '/assets/',
    decorateReply: false,
    index: false,
    maxAge: '365d',
    immutable: true,
  });
}
