import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Fastify, { type FastifyInstance } from 'fastify';
import { registerCompression } from '../http/compression.ts';
import { routesOnDemand } from '../http/routes-on-demand.ts';

const FOLDER = new URL('./assets/', import.meta.url);
const YEAR_MS = 365 * 24 * 3_600_000;

/** The stylesheets of every page, in the order of their rules. */
export const STYLES = [
  'base.css',
  'frame.css',
  'parts.css',
  'tables.css',
  'requests.css',
  'calendar.css',
  'overview.css',
  'photos.css',
  'find.css',
  'booking.css',
  'hours.css',
  'public.css',
  'deliveries.css',
  'print.css',
] as const;

/** The scripts of every page: independent modules that communicate by events on the document. */
export const SCRIPTS = [
  'zone.js',
  'forms.js',
  'dates.js',
  'timeline.js',
  'notices.js',
  'plan.js',
  'live.js',
  'requests.js',
  'photos.js',
  'escape.js',
] as const;

const NAMES = [
  ...STYLES,
  ...SCRIPTS,
  'docs.css',
  'icons.svg',
  'amenities.svg',
  'rooms.svg',
  'favicon.svg',
  'embedded.js',
  'door.js',
] as const;
type AssetName = (typeof NAMES)[number];

const urls = new Map<AssetName, string>();

/** The URL of one of our stylesheets, scripts or images. It changes with the content, so browsers may cache it indefinitely. */
export const assetUrl = (name: AssetName): string =>
  urls.getOrInsertComputed(name, () => {
    const content = readFileSync(new URL(name, FOLDER));
    const version = createHash('sha256').update(content).digest('base64url').slice(0, 10);
    return `/assets/${name}?v=${version}`;
  });

let script: string | undefined;

/** The script by which websites embed a calendar. They load it by an address that never changes. */
export const embedScript = (): string => (script ??= readFileSync(new URL('embed.js', FOLDER), 'utf8'));

/** Serves the stylesheets, scripts and images of pages, which load nothing from other hosts. */
export function registerAssets(app: FastifyInstance): void {
  routesOnDemand(
    app,
    NAMES.map((name) => `/assets/${name}`),
    async () => {
      const { default: fastifyStatic } = await import('@fastify/static');
      const assets = Fastify();
      await registerCompression(assets);
      await assets.register(fastifyStatic, {
        root: FOLDER,
        prefix: '/assets/',
        wildcard: false,
        decorateReply: false,
        index: false,
        immutable: true,
        maxAge: YEAR_MS,
        setHeaders: (reply) => void reply.headers({ vary: 'accept-encoding' }),
      });
      return assets;
    },
  );
}
