import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { asOpenApi30 } from '../../src/description/openapi-3.0.ts';

// Writes docs/openapi.json as OpenAPI 3.0, for `npm run check` to lint.
const api = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
mkdirSync('.cache', { recursive: true });
writeFileSync('.cache/openapi-3.0.json', JSON.stringify(asOpenApi30(api), null, 2));
