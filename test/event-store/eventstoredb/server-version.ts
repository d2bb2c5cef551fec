import { readFileSync } from 'node:fs';

const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
const [, image, version] = /^ {2}image: (\S+\/kurrentdb:(\S+))$/m.exec(compose) ?? [];
if (image === undefined || version === undefined) throw new Error('docker-compose.yml names no version of KurrentDB');

/** The server of docker-compose.yml, the only place that names its version. */
export const SERVER_IMAGE = image;
export const SERVER_VERSION = version;
